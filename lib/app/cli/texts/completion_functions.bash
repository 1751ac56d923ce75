_dtrain_values() {
  case "$1" in
@VALUES@  esac
}
_dtrain() {
  local word="${COMP_WORDS[COMP_CWORD]}" command="" words="" IFS=$' \t\n' at=1
  local option="" name="" begin="" value="" values=""
  # Options before the command, of which --plugin has a value.
  while [ "$at" -lt "$COMP_CWORD" ] && [[ "${COMP_WORDS[at]}" == -* ]]; do
    if [ "${COMP_WORDS[at]}" != --plugin ]; then
      at=$((at + 1))
    elif [ "${COMP_WORDS[at+1]}" = = ]; then
      at=$((at + 3))
    else
      at=$((at + 2))
    fi
  done
  if [ "$at" -gt "$COMP_CWORD" ]; then
    IFS=$'\n'
    COMPREPLY=( $(compgen -f -- "${word#=}") )
    return
  fi
  COMP_WORDS=(dtrain "${COMP_WORDS[@]:$at}")
  COMP_CWORD=$((COMP_CWORD - at + 1))
  command="${COMP_WORDS[1]}"
  if [ "$command" = data ] && [ "$COMP_CWORD" -gt 2 ]; then command="data ${COMP_WORDS[2]}"; fi
  # OPTION VALUE, OPTION=VALUE and --set PATH=VALUE, which bash takes for three words and zsh for one.
  if [ "$COMP_CWORD" -ge 3 ]; then option="${COMP_WORDS[COMP_CWORD-1]}"; fi
  if [ "$COMP_CWORD" -ge 4 ] && { [ "$word" = = ] || [ "$option" = = ]; }; then
    if [ "$word" = = ]; then
      name="$option" option="${COMP_WORDS[COMP_CWORD-2]}" word=""
    else
      name="${COMP_WORDS[COMP_CWORD-2]}" option="${COMP_WORDS[COMP_CWORD-3]}"
    fi
  elif [[ "$word" == *=* ]]; then
    name="${word%%=*}" begin="${word%%=*}="
  fi
  if [[ "$name" == --* ]]; then option="$name" name=""; fi
  if [[ "$option" == --set || "$option" == --try ]] && [ -n "$name" ]; then
    values="$(_dtrain_values "$name")"
  elif [[ "$option" == --set || "$option" == --try ]]; then
    values="@SETTABLE@"
    compopt -o nospace 2>/dev/null
  elif [ "$option" = --unset ]; then
    values="@REMOVABLE@"
  else
    values="$(_dtrain_values "$command $option")"
  fi
  if [ -n "$values" ]; then
    for value in $values; do words="$words $begin$value"; done
    compopt +o filenames 2>/dev/null
    COMPREPLY=( $(compgen -W "$words" -- "$word") )
    return
  fi
  if [ "$COMP_CWORD" -eq 1 ]; then command=""; fi
  case "$command" in
@OPTIONS@  esac
  case "$command" in
@ARGUMENTS@  esac
  case "$command $option" in
    @OTHERS@) return ;;
    @PATHS@) command=files ;;
  esac
  case "$command" in
    configs|data) if [ "$COMP_CWORD" -eq 2 ]; then option=-; else option=files; fi ;;
    ''|completion|manual|bench) option=- ;;
    eval|export|inspect|compare|report|watch|verify|resize) option=runs ;;
    predict) if [ "$COMP_CWORD" -eq 2 ]; then option=runs; else option=files; fi ;;
    *) option=files ;;
  esac
  if [ "$option" = - ] || [[ "$word" == -* ]]; then
    COMPREPLY=( $(compgen -W "$words" -- "$word") )
  elif [ "$option" = runs ]; then
    IFS=$'\n'
    if [ -z "$word" ] && [ -d runs ]; then word=runs/; fi
    COMPREPLY=( $(compgen -d -- "$word") )
    # Of a run's folder, its checkpoints.
    if [ -d "${word%/}/checkpoints" ]; then COMPREPLY+=( $(compgen -d -- "${word%/}/checkpoints/") ); fi
  else
    IFS=$'\n'
    COMPREPLY=( $(compgen -f -- "$word") )
  fi
}

# fish completion of dtrain: dtrain completion fish | source
function __dtrain_settings
  printf '%s\n' @SETTINGS@
end
function __dtrain_fields
  printf '%s\n' @REMOVABLE@
end
# Whether only options before a command were typed. The value of --plugin is none.
function __dtrain_needs_command
  set -l words (commandline -opc)
  set -e words[1]
  while set -q words[1]; and string match -q -- '-*' $words[1]
    test $words[1] = --plugin; and set -e words[1]
    set -e words[1]
  end
  not set -q words[1]
end
function __dtrain_runs
  set -l folders runs/*/ runs/*/checkpoints/*/
  printf '%s\n' $folders
end
complete -c dtrain -n '__fish_seen_subcommand_from eval export inspect predict compare report watch verify resize' -a '(__dtrain_runs)'

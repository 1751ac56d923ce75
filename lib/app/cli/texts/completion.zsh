#compdef dtrain
# zsh completion of dtrain: eval "$(dtrain completion zsh)"
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
autoload -Uz bashcompinit && bashcompinit
@FUNCTIONS@complete -o filenames -F _dtrain dtrain
# As a file of $fpath this is the function _dtrain, and this line makes the first call.
[ "${funcstack[1]}" != _dtrain ] || _bash_complete -o filenames -F _dtrain

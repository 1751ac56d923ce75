# bash completion of dtrain: eval "$(dtrain completion bash)"
@FUNCTIONS@complete -o filenames -F _dtrain dtrain

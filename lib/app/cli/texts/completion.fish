# fish completion of dtrain: dtrain completion fish | source
function __dtrain_settings
  printf '%s\n' @SETTINGS@
end
function __dtrain_fields
  printf '%s\n' @REMOVABLE@
end
function __dtrain_runs
  set -l folders runs/*/ runs/*/checkpoints/*/
  printf '%s\n' $folders
end
complete -c dtrain -n '__fish_seen_subcommand_from eval export inspect predict compare report watch verify resize' -a '(__dtrain_runs)'

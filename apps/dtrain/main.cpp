// The program: everything happens in lib/cli.
#include "cli/cli.h"

int main(int argc, char** argv) { return dtrain::run_command_line(argc, argv); }

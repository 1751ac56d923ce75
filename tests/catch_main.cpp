// Catch2 v2 only: the one file that carries its main().
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>

#include "cli/program.hpp"

int main(int argc, char** argv) { return tferry::cli::run_program(argc, argv); }

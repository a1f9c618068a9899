#include "cli/commands.hpp"

int main(int argc, char** argv) {
  return troupe::cli::run(argc, argv);
}

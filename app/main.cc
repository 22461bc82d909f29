#include <exception>

#include "app/cli.h"

int main(int argc, char** argv) {
  try {
    return gapwatch::app::run_cli(argc, argv);
  } catch (const std::exception& error) {
    // Nothing of ours throws; what a library throws all the same must not end in a stack trace.
    return gapwatch::app::fail(gapwatch::stop(error.what()));
  }
}

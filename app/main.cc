#include <fcntl.h>

#include <exception>

#include "app/cli.h"

namespace {

// A closed standard stream's number would be given to the next file opened, a database's perhaps.
void keep_standard_streams() {
  for (int opened = 0; opened >= 0 && opened <= 2;) opened = open("/dev/null", O_RDWR);
}

}  // namespace

int main(int argc, char** argv) {
  keep_standard_streams();
  try {
    return gapwatch::app::run_cli(argc, argv);
  } catch (const std::exception& error) {
    // Nothing of ours throws; what a library throws all the same must not end in a stack trace.
    return gapwatch::app::fail(gapwatch::stop(error.what()));
  }
}

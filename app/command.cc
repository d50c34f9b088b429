// The command table and exit statuses.
#include "app/command.h"

namespace hloscope::app {
namespace {

constexpr CommandRow kRows[] = {
#define COMMAND(make, name, summary) {make, name, summary},
#include "app/commands.def"
#undef COMMAND
};

int Rank(int status) {
  switch (status) {
    case kDied:
      return 4;
    case kBadInput:
      return 3;
    case kUnsupported:
      return 2;
    case kDiffers:
      return 1;
    default:
      return 0;
  }
}

}  // namespace

std::span<const CommandRow> CommandRows() { return kRows; }

int Worse(int a, int b) { return Rank(a) >= Rank(b) ? a : b; }

int ExitStatusOf(const Error& error) {
  switch (error.error_class) {
    case ErrorClass::kUnsupported:
      return kUnsupported;
    case ErrorClass::kDied:
      return kDied;
    default:
      return kBadInput;
  }
}

}  // namespace hloscope::app

// Families of programs that grow with n, for tests of what grows with them.
#pragma once

#include <iosfwd>
#include <span>
#include <string>

namespace hloscope::replay {

struct ProgramFamily {
  const char* name;
  int size;  // n of the smallest
  std::string (*text)(int n);
};

void PrintTo(const ProgramFamily& family, std::ostream* out);

extern const std::span<const ProgramFamily> kProgramFamilies;

}  // namespace hloscope::replay

// Paths of tests, from where the running program lies.
#include "tests/base/paths.h"

#include <filesystem>

namespace hloscope {
namespace {

std::string BesideThisProgram(std::string_view path) {
  const auto program = std::filesystem::read_symlink("/proc/self/exe");
  return (program.parent_path() / path).lexically_normal().string();
}

}  // namespace

std::string SourcePath(std::string_view path) {
  std::string root = BesideThisProgram(HLOSCOPE_RELATIVE_SOURCE);
  while (root.ends_with('/')) root.pop_back();
  if (path.empty()) return root;
  return root + '/' + std::string(path);
}

std::string ProgramPath() { return BesideThisProgram("../app/hloscope"); }

std::string FakeDriverFolder() { return BesideThisProgram("fake_driver"); }

}  // namespace hloscope

// Where tests find the sources and what was built. All paths are relative to the running program,
// so that the objects of tests are the same in every clone and come from a shared compiler cache.
#pragma once

#include <string>
#include <string_view>

namespace hloscope {

/// The source folder, or a path below it; never ends with a slash of its own.
std::string SourcePath(std::string_view path = "");

/// The `hloscope` program that was built with the tests.
std::string ProgramPath();

/// The folder of the fake CUDA driver and its libraries.
std::string FakeDriverFolder();

}  // namespace hloscope

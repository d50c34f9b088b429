// Looks for the program's own libraries and loads them.
#include "core/base/own_library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "core/base/build_id.h"

namespace hloscope {
namespace {

std::string FileOf(std::string_view name) { return fmt::format("libhloscope_{}.so", name); }

// Programs of tests lie in a folder beside the program's.
std::vector<std::string> Places(const std::string& file) {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path folder = program.parent_path();
  const std::filesystem::path above = folder.parent_path();
  return {folder / file, above / "lib/hloscope" / file,
          above / "lib/x86_64-linux-gnu/hloscope" / file, above / "app" / file};
}

}  // namespace

Result<void*> FindInOwnLibrary(std::string_view name, const char* symbol, std::string hint) {
  const std::string file = FileOf(name);
  std::string reason = file + " is neither beside the program nor in ../lib/hloscope";
  for (const std::string& path : Places(file)) {
    if (access(path.c_str(), F_OK) != 0) continue;
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) {
      if (void* found = dlsym(library, symbol)) return found;
    }
    reason = dlerror();
  }
  return EnvironmentError(fmt::format("cannot load the library {}: {}", name, reason),
                          std::move(hint));
}

std::string BuildIdOfOwnLibrary(const std::string& name) {
  static std::mutex mutex;
  static std::map<std::string, std::string> known;
  const std::lock_guard lock(mutex);
  const auto [at, is_new] = known.try_emplace(name);
  if (!is_new) return at->second;
  for (const std::string& path : Places(FileOf(name))) {
    if (access(path.c_str(), F_OK) != 0) continue;
    at->second = BuildIdOfFile(path);
    break;
  }
  return at->second;
}

}  // namespace hloscope

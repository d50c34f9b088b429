// Looks for the program's own libraries and loads them.
#include "core/base/own_library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>
#include <span>
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

using Addresses = std::vector<ElfW(Addr)>;

int NoteAddress(dl_phdr_info* object, size_t, void* loaded) {
  static_cast<Addresses*>(loaded)->push_back(object->dlpi_addr);
  return 0;
}

// True if the loader wrote to its code.
bool HasTextRelocations(const dl_phdr_info& object) {
  for (const auto& part : std::span(object.dlpi_phdr, object.dlpi_phnum)) {
    if (part.p_type != PT_DYNAMIC) continue;
    const auto* entry = reinterpret_cast<const ElfW(Dyn)*>(object.dlpi_addr + part.p_vaddr);
    for (; entry->d_tag != DT_NULL; ++entry) {
      const bool says_so = entry->d_tag == DT_FLAGS && (entry->d_un.d_val & DF_TEXTREL) != 0;
      if (says_so || entry->d_tag == DT_TEXTREL) return true;
    }
  }
  return false;
}

int ForgetPages(dl_phdr_info* object, size_t, void* loaded_before) {
  const auto& before = *static_cast<const Addresses*>(loaded_before);
  if (std::ranges::find(before, object->dlpi_addr) != before.end()) return 0;
  if (HasTextRelocations(*object)) return 0;
  const auto page = static_cast<ElfW(Addr)>(sysconf(_SC_PAGESIZE));
  for (const auto& part : std::span(object->dlpi_phdr, object->dlpi_phnum)) {
    if (part.p_type != PT_LOAD || (part.p_flags & PF_W) != 0) continue;
    const ElfW(Addr) begin = (object->dlpi_addr + part.p_vaddr) / page * page;
    const ElfW(Addr) end = (object->dlpi_addr + part.p_vaddr + part.p_filesz) / page * page;
    if (begin >= end) continue;
    // Where it is refused the pages stay.
    static_cast<void>(madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED));
  }
  return 0;
}

// As dlopen. What the loader read of the files (relocations and symbols) and nobody needs again
// does not stay in this process's memory; what is needed comes back from the files.
void* Load(const std::string& path) {
  Addresses before;
  dl_iterate_phdr(&NoteAddress, &before);
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) dl_iterate_phdr(&ForgetPages, &before);
  return library;
}

}  // namespace

Result<void*> FindInOwnLibrary(std::string_view name, const char* symbol, std::string hint) {
  const std::string file = FileOf(name);
  std::string reason = file + " is neither next to the program nor in ../lib/hloscope";
  for (const std::string& path : Places(file)) {
    if (access(path.c_str(), F_OK) != 0) continue;
    void* library = Load(path);
    if (library != nullptr) {
      if (void* found = dlsym(library, symbol)) return found;
    }
    reason = dlerror();
  }
  return EnvironmentError(fmt::format("cannot load the library {}: {}", name, reason),
                          std::move(hint));
}

bool HasOwnLibrary(std::string_view name) {
  return std::ranges::any_of(Places(FileOf(name)), [](const std::string& path) {
    return access(path.c_str(), F_OK) == 0;
  });
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

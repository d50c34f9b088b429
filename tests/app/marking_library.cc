// A library that leaves the file PATH.loaded beside itself as soon as it is loaded. Of glibc it
// needs only what 2.14 has, so that bare_roots.py can load it in an older system than it was built
// on.
#include <link.h>
#include <stdio.h>

#include <string_view>

namespace {

int LeaveMarkBeside(dl_phdr_info* info, size_t /*size*/, void* own) {
  const auto address = reinterpret_cast<ElfW(Addr)>(own);
  for (int k = 0; k < info->dlpi_phnum; ++k) {
    const ElfW(Phdr)& part = info->dlpi_phdr[k];
    if (part.p_type != PT_LOAD || address - info->dlpi_addr - part.p_vaddr >= part.p_memsz)
      continue;
    const std::string_view name = info->dlpi_name, ending = ".loaded";
    char path[4096];
    if (name.size() + ending.size() >= sizeof path) return 1;
    name.copy(path, name.size());
    ending.copy(path + name.size(), ending.size());
    path[name.size() + ending.size()] = '\0';
    FILE* const mark = fopen(path, "w");
    if (mark != nullptr) fclose(mark);
    return 1;
  }
  return 0;
}

__attribute__((constructor)) void LeaveMark() {
  dl_iterate_phdr(LeaveMarkBeside, reinterpret_cast<void*>(&LeaveMark));
}

}  // namespace

extern "C" const void* GetPjrtApi() { return nullptr; }

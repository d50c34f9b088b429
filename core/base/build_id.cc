#include "core/base/build_id.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string_view>

#include "core/base/unique_fd.h"

namespace hloscope {
namespace {

// Of a file: where linkers put its headers and notes.
constexpr size_t kHeadBytes = size_t{16} << 10;

struct Search {
  uintptr_t address = 0;
  std::string id;
};

std::string IdIn(std::string_view notes) {
  ElfW(Nhdr) note;
  while (notes.size() >= sizeof note) {
    std::memcpy(&note, notes.data(), sizeof note);
    const size_t name = sizeof note, value = name + (note.n_namesz + 3u) / 4 * 4,
                 end = value + (note.n_descsz + 3u) / 4 * 4;
    if (end > notes.size()) return {};
    const std::string_view owner = notes.substr(name, note.n_namesz);
    if (note.n_type == NT_GNU_BUILD_ID && owner == std::string_view("GNU\0", 4)) {
      return std::string(notes.substr(value, note.n_descsz));
    }
    notes.remove_prefix(end);
  }
  return {};
}

int Visit(dl_phdr_info* file, size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  bool is_it = false;
  std::string id;
  for (int i = 0; i < file->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = file->dlpi_phdr[i];
    const uintptr_t begin = file->dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD) is_it |= search.address - begin < part.p_memsz;
    if (part.p_type == PT_NOTE && id.empty()) {
      id = IdIn({reinterpret_cast<const char*>(begin), static_cast<size_t>(part.p_memsz)});
    }
  }
  if (is_it) search.id = id;
  return is_it ? 1 : 0;
}

}  // namespace

std::string BuildIdAt(const void* address) {
  Search search{reinterpret_cast<uintptr_t>(address), {}};
  dl_iterate_phdr(&Visit, &search);
  return search.id;
}

std::string BuildIdOfFile(const std::string& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string head(kHeadBytes, '\0');
  const ssize_t read = file.valid() ? pread(file.get(), head.data(), head.size(), 0) : 0;
  head.resize(read < 0 ? 0 : static_cast<size_t>(read));
  ElfW(Ehdr) header;
  if (head.size() < sizeof header) return {};
  std::memcpy(&header, head.data(), sizeof header);
  const bool is_elf = std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
                      header.e_phentsize == sizeof(ElfW(Phdr)) && header.e_phoff < head.size();
  for (size_t i = 0; is_elf && i < header.e_phnum; ++i) {
    const size_t at = header.e_phoff + i * sizeof(ElfW(Phdr));
    ElfW(Phdr) part;
    if (at + sizeof part > head.size()) break;
    std::memcpy(&part, head.data() + at, sizeof part);
    if (part.p_type != PT_NOTE || part.p_offset > head.size()) continue;
    std::string id = IdIn(std::string_view(head).substr(part.p_offset, part.p_filesz));
    if (!id.empty()) return id;
  }
  return {};
}

}  // namespace hloscope

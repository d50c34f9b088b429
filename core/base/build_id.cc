#include "core/base/build_id.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "core/base/unique_fd.h"

namespace hloscope {
namespace {

constexpr size_t kMaxNoteBytes = size_t{64} << 10;

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

// Fewer bytes where the file ends.
std::string ReadAt(const UniqueFd& file, uint64_t offset, size_t size) {
  std::string bytes(size, '\0');
  const ssize_t read =
      file.valid() ? pread(file.get(), bytes.data(), size, static_cast<off_t>(offset)) : 0;
  bytes.resize(static_cast<size_t>(std::max<ssize_t>(read, 0)));
  return bytes;
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
  ElfW(Ehdr) header;
  const std::string head = ReadAt(file, 0, sizeof header);
  if (head.size() < sizeof header) return {};
  std::memcpy(&header, head.data(), sizeof header);
  const bool is_elf =
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_phentsize == sizeof(ElfW(Phdr));
  if (!is_elf) return {};
  const std::string parts = ReadAt(file, header.e_phoff, header.e_phnum * sizeof(ElfW(Phdr)));
  for (size_t at = 0; at + sizeof(ElfW(Phdr)) <= parts.size(); at += sizeof(ElfW(Phdr))) {
    ElfW(Phdr) part;
    std::memcpy(&part, parts.data() + at, sizeof part);
    if (part.p_type != PT_NOTE || part.p_filesz > kMaxNoteBytes) continue;
    std::string id = IdIn(ReadAt(file, part.p_offset, part.p_filesz));
    if (!id.empty()) return id;
  }
  return {};
}

}  // namespace hloscope

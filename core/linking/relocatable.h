// Relocatable: an ELF object for x86-64 as sections, symbols and the places to fill in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace hloscope::linking {

// Views of the object's bytes; every number in it leads to where it says.
struct Relocatable {
  // What of the object is in memory when it runs.
  struct Section {
    std::span<const std::byte> bytes;  // shorter than `size` where the rest are zeros
    uint64_t size = 0;
    uint64_t alignment = 1;  // a power of two, at most kMaxAlignment
    bool is_code = false, is_written = false;
  };
  struct Symbol {
    std::string_view name;
    int64_t section = kUndefined;  // in `sections`
    uint64_t offset = 0;           // in it
    bool is_seen = false;          // from outside
  };
  // What is at `offset` of the section becomes an address or a distance.
  struct Relocation {
    size_t section = 0, symbol = 0;
    uint64_t offset = 0;
    uint32_t kind = 0;  // R_X86_64_…
    int64_t addend = 0;
  };
  static constexpr int64_t kUndefined = -1;  // it is another object's
  static constexpr int64_t kNowhere = -2;    // in no memory: a file's name, a section of notes
  static constexpr uint64_t kMaxAlignment = 4096;
  static constexpr uint64_t kMaxBytes = uint64_t{1} << 30;  // of all sections

  std::vector<Section> sections;
  std::vector<Symbol> symbols;
  std::vector<Relocation> relocations;
};

// Internal, with what is wrong: it is no such object, or a number in it leads nowhere.
Result<Relocatable> ReadRelocatable(std::span<const std::byte> object);

}  // namespace hloscope::linking

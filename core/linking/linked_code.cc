// A loader: one piece of memory for each object, code that cannot be written and data that cannot
// be run.
#include "core/linking/linked_code.h"

#include <elf.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include <cstring>
#include <limits>

#include "core/base/system_error.h"
#include "core/linking/relocatable.h"
#include "core/linking/symbols.h"

namespace hloscope::linking {
namespace {

using Addresses = std::unordered_map<std::string_view, void*>;

#ifdef __x86_64__
constexpr bool kCanLink = true;
#else
constexpr bool kCanLink = false;
#endif

constexpr uint64_t kPage = 4096;
// `jmp *distance(%rip)`, and what fills it up.
constexpr uint64_t kJumpBytes = 8;

const Addresses& Table() {
  static const Addresses table = [] {
    Addresses out;
    for (const Symbol& symbol : Symbols()) out.emplace(symbol.name, symbol.address);
    return out;
  }();
  return table;
}

uint64_t Aligned(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

uint64_t AddressOf(const void* place) { return reinterpret_cast<uint64_t>(place); }

}  // namespace

// The memory of one object: code, constants and data, each from a page of its own on, so that all
// of it is within reach of 32-bit distances.
class LinkedCode::Memory {
 public:
  ~Memory() {
    if (base_ != nullptr) munmap(base_, size_);
  }

  enum Part : uint8_t { kCode, kConstants, kData, kParts };

  // Room in a part; where it is, from the beginning of that.
  uint64_t Reserve(Part part, uint64_t bytes, uint64_t alignment) {
    const uint64_t at = Aligned(sizes_[part], alignment);
    sizes_[part] = at + bytes;
    return at;
  }
  Status Map() {
    for (size_t part = 0; part < kParts; ++part) {
      begins_[part] = size_;
      size_ += Aligned(sizes_[part], kPage);
    }
    if (size_ == 0) return {};
    void* base = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) return SystemFailure("memory for code");
    base_ = static_cast<std::byte*>(base);
    return {};
  }
  std::byte* At(Part part, uint64_t offset) const { return base_ + begins_[part] + offset; }

  // From here on code can be run and only data be written.
  Status Protect() {
    const bool done =
        Protect(kCode, PROT_READ | PROT_EXEC) == 0 && Protect(kConstants, PROT_READ) == 0;
    if (!done) return SystemFailure("link: the system does not allow executable memory");
    return {};
  }

 private:
  int Protect(Part part, int how) {
    return sizes_[part] == 0 ? 0 : mprotect(At(part, 0), Aligned(sizes_[part], kPage), how);
  }

  std::byte* base_ = nullptr;
  uint64_t size_ = 0;
  uint64_t sizes_[kParts] = {}, begins_[kParts] = {};
};

// Places the sections of one object and fills in its addresses.
class LinkedCode::Linker {
 public:
  Linker(const Relocatable& object, Memory& memory) : object_(object), memory_(memory) {}

  Status Link() {
    HLOSCOPE_TRY(Reserve());
    HLOSCOPE_TRY(memory_.Map());
    for (size_t i = 0; i < object_.sections.size(); ++i) {
      const auto bytes = object_.sections[i].bytes;
      if (!bytes.empty()) std::memcpy(SectionAt(i), bytes.data(), bytes.size());
    }
    for (const auto& [symbol, entry] : entries_) WriteEntry(entry);
    for (const Relocatable::Relocation& each : object_.relocations) HLOSCOPE_TRY(Fill(each));
    return memory_.Protect();
  }

  // Of a symbol that is the object's own and in memory.
  std::byte* SymbolAt(const Relocatable::Symbol& symbol) const {
    return SectionAt(static_cast<size_t>(symbol.section)) + symbol.offset;
  }

 private:
  // An address that code reads, and a jump there for code that cannot reach so far.
  struct Entry {
    void* target = nullptr;
    uint64_t address = 0;  // in the constants
    uint64_t jump = 0;     // in the code
  };

  static Memory::Part PartOf(const Relocatable::Section& section) {
    if (section.is_code) return Memory::kCode;
    return section.is_written ? Memory::kData : Memory::kConstants;
  }
  std::byte* SectionAt(size_t section) const {
    return memory_.At(PartOf(object_.sections[section]), places_[section]);
  }

  Status Reserve() {
    for (const Relocatable::Section& section : object_.sections) {
      places_.push_back(memory_.Reserve(PartOf(section), section.size, section.alignment));
    }
    for (const Relocatable::Relocation& each : object_.relocations) {
      const Relocatable::Symbol& symbol = object_.symbols[each.symbol];
      if (symbol.section == Relocatable::kNowhere) {
        return InternalError(fmt::format("the symbol {} is in no memory", symbol.name));
      }
      if (symbol.section != Relocatable::kUndefined || entries_.contains(each.symbol)) continue;
      const auto found = Table().find(symbol.name);
      if (found == Table().end()) {
        return InternalError(fmt::format("no symbol {} in the table", symbol.name));
      }
      entries_[each.symbol] = {found->second,
                               memory_.Reserve(Memory::kConstants, sizeof(void*), sizeof(void*)),
                               memory_.Reserve(Memory::kCode, kJumpBytes, kJumpBytes)};
    }
    return {};
  }

  void WriteEntry(const Entry& entry) {
    std::byte* address = memory_.At(Memory::kConstants, entry.address);
    std::memcpy(address, &entry.target, sizeof entry.target);
    std::byte* jump = memory_.At(Memory::kCode, entry.jump);
    constexpr unsigned char kJump[kJumpBytes] = {0xff, 0x25, 0, 0, 0, 0, 0xcc, 0xcc};
    std::memcpy(jump, kJump, kJumpBytes);
    const auto distance = static_cast<int32_t>(address - (jump + 6));
    std::memcpy(jump + 2, &distance, sizeof distance);
  }

  Status Fill(const Relocatable::Relocation& each) {
    const Relocatable::Symbol& symbol = object_.symbols[each.symbol];
    const bool is_foreign = symbol.section == Relocatable::kUndefined;
    const uint64_t place = AddressOf(SectionAt(each.section)) + each.offset;  // Write looks at it
    const auto addend = static_cast<uint64_t>(each.addend);
    switch (each.kind) {
      case R_X86_64_64: {
        const uint64_t target =
            is_foreign ? AddressOf(entries_[each.symbol].target) : AddressOf(SymbolAt(symbol));
        return Write(each, static_cast<int64_t>(target + addend), sizeof(int64_t));
      }
      case R_X86_64_PC32:
      case R_X86_64_PLT32: {
        const uint64_t target =
            is_foreign ? AddressOf(memory_.At(Memory::kCode, entries_[each.symbol].jump))
                       : AddressOf(SymbolAt(symbol));
        return Write(each, static_cast<int64_t>(target + addend - place), sizeof(int32_t));
      }
      case R_X86_64_GOTPCREL:
      case R_X86_64_GOTPCRELX:
      case R_X86_64_REX_GOTPCRELX: {
        if (!is_foreign) break;
        const std::byte* entry = memory_.At(Memory::kConstants, entries_[each.symbol].address);
        return Write(each, static_cast<int64_t>(AddressOf(entry) + addend - place),
                     sizeof(int32_t));
      }
      default:
        break;
    }
    return InternalError(
        fmt::format("an object asks for relocation {} of {}", each.kind, symbol.name));
  }

  Status Write(const Relocatable::Relocation& each, int64_t value, uint64_t width) {
    const uint64_t size = object_.sections[each.section].size;
    const bool fits = width == sizeof value || (value >= std::numeric_limits<int32_t>::min() &&
                                                value <= std::numeric_limits<int32_t>::max());
    if (each.offset > size || width > size - each.offset || !fits) {
      return InternalError("a relocation is outside of its section, or leads too far");
    }
    std::memcpy(SectionAt(each.section) + each.offset, &value, width);
    return {};
  }

  const Relocatable& object_;
  Memory& memory_;
  std::vector<uint64_t> places_;               // by section
  std::unordered_map<size_t, Entry> entries_;  // by symbol, of the table
};

LinkedCode::LinkedCode() = default;
LinkedCode::~LinkedCode() = default;

Status LinkedCode::Add(std::span<const std::byte> bytes) {
  if (!kCanLink) {
    return UnsupportedError("code is linked on x86-64 processors alone",
                            "run it with --platform interpreter");
  }
  HLOSCOPE_ASSIGN_OR_RETURN(const Relocatable object, ReadRelocatable(bytes));
  auto memory = std::make_unique<Memory>();
  Linker linker(object, *memory);
  HLOSCOPE_TRY(linker.Link());
  for (const Relocatable::Symbol& symbol : object.symbols) {
    if (!symbol.is_seen || symbol.section < 0) continue;
    if (!object.sections[static_cast<size_t>(symbol.section)].is_code) continue;
    functions_.emplace(symbol.name, linker.SymbolAt(symbol));
  }
  memories_.push_back(std::move(memory));
  return {};
}

Result<void*> LinkedCode::Find(const std::string& name) const {
  const auto found = functions_.find(name);
  if (found == functions_.end()) return InternalError("there is no code of " + name);
  return found->second;
}

}  // namespace hloscope::linking

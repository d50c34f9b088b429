// Section headers to symbol table to names, each place checked against the size of the file.
#include "core/dump/readers/elf_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "core/base/checked.h"

namespace hloscope::dump {
namespace {

// System V ABI, chapter 4, and its 64-bit forms.
constexpr size_t kHeaderBytes = 64, kSectionBytes = 64, kSymbolBytes = 24;
constexpr size_t kSectionsAt = 0x28, kSectionSizeAt = 0x3a, kSectionCountAt = 0x3c;
constexpr uint32_t kSymbolTable = 2;
constexpr uint8_t kFunction = 2, kGlobal = 1;

template <typename T>
T Get(std::string_view bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

struct Section {
  uint32_t type = 0, link = 0;
  uint64_t at = 0, bytes = 0, entry_bytes = 0;
};

class Object {
 public:
  explicit Object(std::string_view bytes) : bytes_(bytes) {}

  Result<std::vector<ObjectFunction>> Functions() {
    HLOSCOPE_TRY(ReadHeader());
    std::vector<ObjectFunction> functions;
    bool found = false;
    for (uint64_t k = 0; k < section_count_; ++k) {
      const Section section = SectionAt(k);
      if (section.type != kSymbolTable) continue;
      found = true;
      HLOSCOPE_TRY(ReadSymbols(section, functions));
    }
    if (!found) return InputError("it has no symbol table");
    std::ranges::stable_sort(functions, {}, &ObjectFunction::name);
    return functions;
  }

 private:
  Status ReadHeader() {
    if (!bytes_.starts_with("\x7f"
                            "ELF"))
      return InputError("this is not an ELF file");
    if (bytes_.size() < kHeaderBytes) return InputError("its header is cut off");
    if (bytes_[4] != 2 || bytes_[5] != 1)
      return InputError("its ELF header is not of 64 bits and little-endian");
    sections_at_ = Get<uint64_t>(bytes_, kSectionsAt);
    const auto entry_bytes = Get<uint16_t>(bytes_, kSectionSizeAt);
    section_count_ = Get<uint16_t>(bytes_, kSectionCountAt);
    if (section_count_ == 0 && sections_at_ == 0) return InputError("it has no sections");
    if (entry_bytes != kSectionBytes)
      return InputError(fmt::format("its section headers have {} bytes, expected {}", entry_bytes,
                                    kSectionBytes));
    // More sections than the header can count stand in the first one's size.
    if (section_count_ == 0 && IsInside(sections_at_, kSectionBytes))
      section_count_ = SectionAt(0).bytes;
    auto size = CheckedMul<uint64_t>(section_count_, kSectionBytes);
    if (section_count_ == 0 || !size || !IsInside(sections_at_, *size))
      return InputError("its section headers are outside of the file");
    return {};
  }

  bool IsInside(uint64_t at, uint64_t size) const {
    auto end = CheckedAdd(at, size);
    return end && *end <= bytes_.size();
  }

  Section SectionAt(uint64_t number) const {
    std::string_view header = bytes_.substr(sections_at_ + number * kSectionBytes, kSectionBytes);
    return {Get<uint32_t>(header, 4), Get<uint32_t>(header, 40), Get<uint64_t>(header, 24),
            Get<uint64_t>(header, 32), Get<uint64_t>(header, 56)};
  }

  Status ReadSymbols(const Section& table, std::vector<ObjectFunction>& functions) const {
    if (table.entry_bytes != kSymbolBytes)
      return InputError(
          fmt::format("its symbols have {} bytes, expected {}", table.entry_bytes, kSymbolBytes));
    if (!IsInside(table.at, table.bytes))
      return InputError("its symbol table is outside of the file");
    if (table.link >= section_count_) return InputError("its symbol table has no names");
    const Section strings = SectionAt(table.link);
    if (!IsInside(strings.at, strings.bytes))
      return InputError("the names of its symbols are outside of the file");
    std::string_view symbols = bytes_.substr(table.at, table.bytes);
    std::string_view names = bytes_.substr(strings.at, strings.bytes);
    for (; symbols.size() >= kSymbolBytes; symbols.remove_prefix(kSymbolBytes))
      HLOSCOPE_TRY(TakeSymbol(symbols, names, functions));
    return {};
  }

  static Status TakeSymbol(std::string_view symbol, std::string_view names,
                           std::vector<ObjectFunction>& functions) {
    const auto info = Get<uint8_t>(symbol, 4);
    const bool defined = Get<uint16_t>(symbol, 6) != 0;
    if ((info & 0xf) != kFunction || info >> 4 != kGlobal || !defined) return {};
    const auto at = Get<uint32_t>(symbol, 0);
    if (at >= names.size()) return InputError("a symbol's name is outside of its table");
    std::string_view name = names.substr(at);
    size_t end = name.find('\0');
    if (end == std::string_view::npos) return InputError("a symbol's name is not terminated");
    const auto bytes = Get<uint64_t>(symbol, 16);
    if (bytes > INT64_MAX) return InputError("a function is larger than any file");
    if (end > 0)
      functions.push_back({std::string(name.substr(0, end)), static_cast<int64_t>(bytes)});
    return {};
  }

  std::string_view bytes_;
  uint64_t sections_at_ = 0, section_count_ = 0;
};

}  // namespace

Result<std::vector<ObjectFunction>> ReadObjectFunctions(std::string_view bytes) {
  return Object(bytes).Functions();
}

}  // namespace hloscope::dump

// Reads ELF by the System V ABI; bytes may lie at any address.
#include "core/linking/relocatable.h"

#include <elf.h>
#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <optional>

namespace hloscope::linking {
namespace {

using Bytes = std::span<const std::byte>;

std::unexpected<Error> Refusal(std::string_view what) {
  return InternalError(fmt::format("not a linkable object: {}", what));
}

// `count` values of T from `offset` on; nothing where they are not all there.
template <typename T>
std::optional<std::vector<T>> Read(Bytes bytes, uint64_t offset, uint64_t count) {
  if (offset > bytes.size() || count > (bytes.size() - offset) / sizeof(T)) return std::nullopt;
  std::vector<T> out(static_cast<size_t>(count));
  if (count > 0) std::memcpy(out.data(), bytes.data() + offset, out.size() * sizeof(T));
  return out;
}

// All values of T that there are.
template <typename T>
std::vector<T> ReadAll(Bytes bytes) {
  return *Read<T>(bytes, 0, bytes.size() / sizeof(T));
}

class Reader {
 public:
  explicit Reader(Bytes object) : object_(object) {}

  Result<Relocatable> ReadObject() {
    HLOSCOPE_TRY(ReadHeaders());
    HLOSCOPE_TRY(ReadSections());
    HLOSCOPE_TRY(ReadSymbols());
    HLOSCOPE_TRY(ReadRelocations());
    return std::move(out_);
  }

 private:
  Status ReadHeaders() {
    const auto header = Read<Elf64_Ehdr>(object_, 0, 1);
    if (!header) return Refusal("it is too short");
    const Elf64_Ehdr& is = header->front();
    constexpr unsigned char kIdentity[] = {ELFMAG0,    ELFMAG1,     ELFMAG2,   ELFMAG3,
                                           ELFCLASS64, ELFDATA2LSB, EV_CURRENT};
    const bool fits = std::memcmp(is.e_ident, kIdentity, sizeof kIdentity) == 0 &&
                      is.e_type == ET_REL && is.e_machine == EM_X86_64 &&
                      is.e_shentsize == sizeof(Elf64_Shdr);
    if (!fits) return Refusal("it is not relocatable ELF for x86-64");
    auto headers = Read<Elf64_Shdr>(object_, is.e_shoff, is.e_shnum);
    if (!headers) return Refusal("its sections are cut off");
    headers_ = *std::move(headers);
    return {};
  }

  Result<Bytes> BytesOf(const Elf64_Shdr& header) const {
    if (header.sh_type == SHT_NOBITS) return Bytes();
    const bool fits =
        header.sh_offset <= object_.size() && header.sh_size <= object_.size() - header.sh_offset;
    if (!fits) return Refusal("a section is cut off");
    return object_.subspan(header.sh_offset, header.sh_size);
  }

  // Those that are in memory; of all others the place is kNowhere.
  Status ReadSections() {
    uint64_t all = 0;
    for (const Elf64_Shdr& header : headers_) {
      place_.push_back(Relocatable::kNowhere);
      if ((header.sh_flags & SHF_ALLOC) == 0) continue;
      HLOSCOPE_ASSIGN_OR_RETURN(const Bytes bytes, BytesOf(header));
      const uint64_t alignment = std::max<uint64_t>(header.sh_addralign, 1);
      const bool fits = std::has_single_bit(alignment) && alignment <= Relocatable::kMaxAlignment &&
                        header.sh_size <= Relocatable::kMaxBytes - all;
      if (!fits) return Refusal("a section has an invalid size");
      const bool is_code = (header.sh_flags & SHF_EXECINSTR) != 0;
      const bool is_written = (header.sh_flags & SHF_WRITE) != 0;
      if ((header.sh_flags & SHF_TLS) != 0 || (is_code && is_written)) {
        return Refusal("a section is thread-local, or is writable code");
      }
      all += header.sh_size;
      place_.back() = std::ssize(out_.sections);
      out_.sections.push_back({bytes, header.sh_size, alignment, is_code, is_written});
    }
    return {};
  }

  // The text at that place; nothing where it does not end.
  static std::optional<std::string_view> Text(Bytes texts, uint64_t at) {
    if (at >= texts.size()) return std::nullopt;
    const auto* begin = reinterpret_cast<const char*>(texts.data()) + at;
    const size_t length = strnlen(begin, texts.size() - at);
    if (length == texts.size() - at) return std::nullopt;
    return std::string_view(begin, length);
  }

  Status ReadSymbols() {
    for (size_t i = 0; i < headers_.size(); ++i) {
      const Elf64_Shdr& header = headers_[i];
      if (header.sh_type != SHT_SYMTAB) continue;
      if (symbols_of_ != 0) return Refusal("it has two tables of symbols");
      symbols_of_ = i;
      if (header.sh_link >= headers_.size()) return Refusal("symbols have no names");
      HLOSCOPE_ASSIGN_OR_RETURN(const Bytes texts, BytesOf(headers_[header.sh_link]));
      HLOSCOPE_ASSIGN_OR_RETURN(const Bytes table, BytesOf(header));
      const auto symbols = ReadAll<Elf64_Sym>(table);
      for (const Elf64_Sym& each : symbols) HLOSCOPE_TRY(AddSymbol(each, texts));
    }
    return {};
  }

  Status AddSymbol(const Elf64_Sym& each, Bytes texts) {
    const auto name = Text(texts, each.st_name);
    if (!name) return Refusal("a symbol has no name");
    Relocatable::Symbol symbol{*name, Relocatable::kUndefined, each.st_value,
                               ELF64_ST_BIND(each.st_info) == STB_GLOBAL};
    if (each.st_shndx >= SHN_LORESERVE) {
      symbol.section = Relocatable::kNowhere;
    } else if (each.st_shndx != SHN_UNDEF) {
      if (each.st_shndx >= headers_.size()) return Refusal("a symbol is in no section");
      symbol.section = place_[each.st_shndx];
    }
    if (symbol.section >= 0 &&
        symbol.offset > out_.sections[static_cast<size_t>(symbol.section)].size) {
      return Refusal("a symbol is outside of its section");
    }
    out_.symbols.push_back(symbol);
    return {};
  }

  Status ReadRelocations() {
    for (const Elf64_Shdr& header : headers_) {
      if (header.sh_type == SHT_REL) return Refusal("it has relocations without addends");
      if (header.sh_type != SHT_RELA) continue;
      if (header.sh_info >= headers_.size() || header.sh_link != symbols_of_) {
        return Refusal("relocations belong to no section or other symbols");
      }
      const int64_t section = place_[header.sh_info];
      if (section < 0) continue;  // of notes
      HLOSCOPE_ASSIGN_OR_RETURN(const Bytes table, BytesOf(header));
      const auto relocations = ReadAll<Elf64_Rela>(table);
      for (const Elf64_Rela& each : relocations) {
        const size_t symbol = ELF64_R_SYM(each.r_info);
        if (symbol >= out_.symbols.size()) return Refusal("a relocation names no symbol");
        out_.relocations.push_back({static_cast<size_t>(section), symbol, each.r_offset,
                                    static_cast<uint32_t>(ELF64_R_TYPE(each.r_info)),
                                    each.r_addend});
      }
    }
    return {};
  }

  Bytes object_;
  std::vector<Elf64_Shdr> headers_;
  std::vector<int64_t> place_;  // by section of the object: in out_.sections
  size_t symbols_of_ = 0;       // the section of symbols
  Relocatable out_;
};

}  // namespace

Result<Relocatable> ReadRelocatable(std::span<const std::byte> object) {
  return Reader(object).ReadObject();
}

}  // namespace hloscope::linking

// Reading and writing zip archives of .npy files.
#include "core/dump/tensors/npz.h"

#include <fmt/format.h>

namespace hloscope::dump {
namespace {

constexpr std::string_view kEnding = ".npy";

std::string_view Plain(std::string_view name) {
  if (name.ends_with(kEnding)) name.remove_suffix(kEnding.size());
  return name;
}

}  // namespace

Result<NpzArchive> NpzArchive::Open(FileParts file, const Limits& limits) {
  HLOSCOPE_ASSIGN_OR_RETURN(ZipArchive zip, ZipArchive::Open(std::move(file), limits));
  return NpzArchive(std::move(zip));
}

const ZipArchive::Member* NpzArchive::Find(std::string_view name) const {
  for (const ZipArchive::Member& member : zip_.members()) {
    if (Plain(member.name) == name) return &member;
  }
  return nullptr;
}

std::vector<std::string> NpzArchive::Names() const {
  std::vector<std::string> names;
  for (const ZipArchive::Member& member : zip_.members()) names.emplace_back(Plain(member.name));
  return names;
}

Result<std::string> NpzArchive::Read(std::string_view name) const {
  const ZipArchive::Member* member = Find(name);
  if (member == nullptr) return InputError(fmt::format("{}: there is no member {}", path(), name));
  return zip_.Read(*member);
}

Result<std::string> NpzArchive::ReadHead(std::string_view name, uint64_t size) const {
  const ZipArchive::Member* member = Find(name);
  if (member == nullptr) return InputError(fmt::format("{}: there is no member {}", path(), name));
  return zip_.ReadHead(*member, size);
}

Result<ZipMemberReader> NpzArchive::Reader(std::string_view name) const {
  const ZipArchive::Member* member = Find(name);
  if (member == nullptr) return InputError(fmt::format("{}: there is no member {}", path(), name));
  return ZipMemberReader(zip_.file(), *member);
}

uint64_t NpzArchive::SizeOf(std::string_view name) const {
  const ZipArchive::Member* member = Find(name);
  return member == nullptr ? 0 : member->size;
}

Result<std::string> WriteNpz(std::span<const std::pair<std::string, std::string>> members,
                             uint64_t wide_from) {
  std::vector<ZipEntry> entries;
  entries.reserve(members.size());
  for (const auto& [name, bytes] : members) {
    entries.push_back({.name = name + std::string(kEnding), .bytes = bytes});
  }
  return WriteZip(entries, wide_from);
}

uint64_t BytesOfNpz(std::span<const std::pair<std::string, uint64_t>> members) {
  std::vector<ZipMemberSize> sizes;
  sizes.reserve(members.size());
  for (const auto& [name, size] : members) {
    sizes.push_back({name + std::string(kEnding), size, size});
  }
  return BytesOfZip(sizes);
}

}  // namespace hloscope::dump

#include "core/dump/bundle_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/memory_limit.h"
#include "core/base/parse_json.h"
#include "core/base/text.h"
#include "core/dump/container.h"
#include "core/dump/listing/sniff.h"
#include "core/hlo/string_pool.h"

namespace hloscope::dump {
namespace {

using Json = nlohmann::json;

struct PartRow {
  std::string_view file, what;
};
constexpr PartRow kRows[] = {
#define PART(kind, file, what) {file, what},
#include "core/dump/bundle_parts.def"
#undef PART
};

constexpr uint64_t kMaxManifestBytes = 16 << 20;

const Json* Find(const Json& object, std::string_view key, Json::value_t type) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  if (found == object.end()) return nullptr;
  const bool number = type == Json::value_t::number_integer && found->is_number_integer();
  return number || found->type() == type ? &*found : nullptr;
}

}  // namespace

std::string_view FileOf(BundlePart part) { return kRows[static_cast<size_t>(part)].file; }
std::string_view Describe(BundlePart part) { return kRows[static_cast<size_t>(part)].what; }

std::optional<BundlePart> BundlePartFromFile(std::string_view file) {
  const auto row = std::ranges::find(kRows, file, &PartRow::file);
  if (row == std::end(kRows)) return std::nullopt;
  return static_cast<BundlePart>(row - std::begin(kRows));
}

std::string BundleHash(std::string_view bytes) {
  return fmt::format("{:016x}", hlo::HashBytes(bytes));
}

std::unexpected<Error> BundleFile::Bad(std::string_view what) const {
  return std::unexpected(Error{ErrorClass::kInput, std::string(what), {path(), 0, 0}, {}});
}

Result<BundleFile> BundleFile::Open(FileView file, const Limits& limits) {
  HLOSCOPE_ASSIGN_OR_RETURN(ZipArchive zip,
                            ZipArchive::Open(std::move(file), limits, ZipRules::kStrict));
  BundleFile bundle(std::move(zip));
  HLOSCOPE_TRY(WithinMemory(limits, bundle.path(), [&]() -> Status {
    HLOSCOPE_TRY(bundle.ReadManifest());
    return bundle.CheckParts();
  }));
  return bundle;
}

Result<std::optional<BundleFile>> OpenIfBundle(const std::string& path, const Limits& limits) {
  constexpr std::string_view kStandardInput = "-";
  if (path == kStandardInput) return std::nullopt;
  HLOSCOPE_ASSIGN_OR_RETURN(FileView view, OpenInput(path, limits));
  if (Sniff(view.bytes()) != FileKind::kBundle) return std::nullopt;
  return BundleFile::Open(std::move(view), limits);
}

Result<BundleFile> BundleFile::Open(const std::string& path, const Limits& limits) {
  HLOSCOPE_ASSIGN_OR_RETURN(FileView file, FileView::Open(path, limits));
  return Open(std::move(file), limits);
}

Status BundleFile::ReadManifest() {
  const ZipArchive::Member* member = zip_.Find(FileOf(BundlePart::kManifest));
  if (member == nullptr) return Bad("not a bundle: no manifest.json in this archive");
  if (member->size > kMaxManifestBytes) return Bad("manifest.json has more than 16 MiB");
  HLOSCOPE_ASSIGN_OR_RETURN(manifest_, zip_.Read(*member));
  const Json manifest = ParseJson(manifest_).value_or(nullptr);
  const Json* format = Find(manifest, "format", Json::value_t::string);
  if (format == nullptr || *format != kBundleFormat) {
    return Bad("manifest.json is not the manifest of a bundle");
  }
  const Json* version = Find(manifest, "version", Json::value_t::number_integer);
  if (version == nullptr) return Bad("manifest.json has no format version");
  version_ = version->is_number_unsigned() && version->get<uint64_t>() > INT64_MAX
                 ? INT64_MAX
                 : version->get<int64_t>();
  if (version_ < 1 || version_ > kBundleVersion) {
    return InputError(fmt::format("{}: bundle format version {}; this hloscope reads 1 to {}",
                                  path(), version_, kBundleVersion),
                      version_ > kBundleVersion ? "a newer hloscope made it" : "");
  }
  const Json* parts = Find(manifest, "parts", Json::value_t::array);
  if (parts == nullptr) return Bad("manifest.json has no list of parts");
  for (const Json& part : *parts) {
    const Json* file = Find(part, "file", Json::value_t::string);
    const Json* bytes = Find(part, "bytes", Json::value_t::number_integer);
    const Json* hash = Find(part, "hash", Json::value_t::string);
    if (file == nullptr || bytes == nullptr || hash == nullptr) {
      return Bad("manifest.json has a part without file, bytes or hash");
    }
    const auto& name = file->get_ref<const std::string&>();
    const auto known = BundlePartFromFile(name);
    if (!known || *known == BundlePart::kManifest) {
      return Bad(fmt::format("manifest.json lists {}, which is not a known part of a bundle",
                             EscapeForTerminal(name.substr(0, 100))));
    }
    listed_.push_back({*known, bytes->get<int64_t>(), hash->get<std::string>()});
  }
  return {};
}

Status BundleFile::CheckParts() const {
  for (const ZipArchive::Member& member : zip_.members()) {
    const auto part = BundlePartFromFile(member.name);
    if (!part) return Bad(member.name + " is not a known part of a bundle");
    if (*part == BundlePart::kManifest) continue;
    const auto listed = std::ranges::find(listed_, *part, &Listed::part);
    if (listed == listed_.end()) return Bad(member.name + " is not in the manifest");
    if (!std::cmp_equal(listed->bytes, member.size)) {
      return Bad(fmt::format("{} has {} bytes; the manifest says {}", member.name, member.size,
                             listed->bytes));
    }
  }
  for (const Listed& listed : listed_) {
    if (!Has(listed.part)) return Bad(fmt::format("{} is missing", FileOf(listed.part)));
    if (std::ranges::count(listed_, listed.part, &Listed::part) > 1) {
      return Bad(fmt::format("the manifest lists {} twice", FileOf(listed.part)));
    }
  }
  if (!Has(BundlePart::kModule) && !Has(BundlePart::kModuleProto)) {
    return Bad("there is no module in this bundle");
  }
  return {};
}

std::vector<BundlePart> BundleFile::Parts() const {
  std::vector<BundlePart> parts;
  for (const ZipArchive::Member& member : zip_.members()) {
    if (const auto part = BundlePartFromFile(member.name)) parts.push_back(*part);
  }
  return parts;
}

int64_t BundleFile::SizeOf(BundlePart part) const {
  const ZipArchive::Member* member = zip_.Find(FileOf(part));
  return member == nullptr ? 0 : static_cast<int64_t>(member->size);
}

Result<std::string> BundleFile::Read(BundlePart part) const {
  const ZipArchive::Member* member = zip_.Find(FileOf(part));
  if (member == nullptr) return Bad(fmt::format("{} is missing", FileOf(part)));
  return zip_.Read(*member);
}

Result<bool> BundleFile::IsUnchanged(BundlePart part) const {
  HLOSCOPE_ASSIGN_OR_RETURN(const std::string bytes, Read(part));
  const auto listed = std::ranges::find(listed_, part, &Listed::part);
  return listed != listed_.end() && listed->hash == BundleHash(bytes);
}

Result<FileView> BundleFile::ModuleFile() const {
  const BundlePart part =
      Has(BundlePart::kModuleProto) ? BundlePart::kModuleProto : BundlePart::kModule;
  HLOSCOPE_ASSIGN_OR_RETURN(std::string bytes, Read(part));
  return FileView::FromBytes(path(), std::move(bytes));
}

}  // namespace hloscope::dump

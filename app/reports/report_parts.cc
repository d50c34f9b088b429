#include "app/reports/report_parts.h"

#include "core/base/quick_hash.h"
#include "core/dump/listing/packed_bytes.h"

namespace hloscope::app {
namespace {

// Where the fields of a part or what its text says change, older ones no longer count.
constexpr uint64_t kVersion = 4;

bool TakePart(std::string_view& bytes, dump::FileKey& key, ModulePart& part) {
  return dump::TakePacked(bytes, key) && dump::TakePackedText(bytes, part.text) &&
         dump::TakePackedText(bytes, part.transfers) && dump::TakePacked(bytes, part.counts) &&
         dump::TakePacked(bytes, part.bytes) && dump::TakePacked(bytes, part.unknown_transfers) &&
         dump::TakePacked(bytes, part.stages) && dump::TakePacked(bytes, part.instructions) &&
         dump::TakePacked(bytes, part.memory_bytes) && dump::TakePacked(bytes, part.peak_bytes);
}

}  // namespace

const ModulePart* ReportParts::Find(const dump::FileKey& key) const {
  auto at = parts_.find(key);
  return at == parts_.end() ? nullptr : &at->second;
}

std::string ReportParts::Pack(const dump::HeadTable& heads) const {
  std::string out;
  dump::PutPacked(out, kVersion);
  heads.Write(out);
  dump::PutPacked(out, static_cast<uint64_t>(parts_.size()));
  for (const auto& [key, part] : parts_) {
    dump::PutPacked(out, key);
    dump::PutPackedText(out, part.text);
    dump::PutPackedText(out, part.transfers);
    dump::PutPacked(out, part.counts);
    dump::PutPacked(out, part.bytes);
    dump::PutPacked(out, part.unknown_transfers);
    for (const int64_t figure :
         {part.stages, part.instructions, part.memory_bytes, part.peak_bytes}) {
      dump::PutPacked(out, figure);
    }
  }
  return out;
}

std::optional<ReportParts> ReportParts::Unpack(std::string_view bytes) {
  uint64_t version = 0, count = 0;
  if (!dump::TakePacked(bytes, version) || version != kVersion) return std::nullopt;
  std::optional<dump::HeadTable> heads = dump::HeadTable::Take(bytes);
  if (!heads || !dump::TakePacked(bytes, count)) return std::nullopt;
  ReportParts parts;
  parts.heads_ = std::make_shared<const dump::HeadTable>(*std::move(heads));
  for (uint64_t k = 0; k < count; ++k) {
    dump::FileKey key;
    ModulePart part;
    if (!TakePart(bytes, key, part)) return std::nullopt;
    parts.parts_.emplace_hint(parts.parts_.end(), key, std::move(part));
  }
  return parts;
}

dump::FileKey KeyOfModule(const dump::DumpModel& model, size_t module,
                          const std::vector<dump::FileKey>& files) {
  const dump::ModuleEntry& entry = model.modules()[module];
  uint64_t hash = QuickMix(5, static_cast<uint64_t>(entry.id));
  for (const std::string* text : {&entry.name, &entry.framework, &entry.device, &entry.target,
                                  &entry.folder, &entry.timestamp})
    hash = QuickHash(*text, hash);
  for (const dump::StageEntry& stage : entry.stages) hash = QuickHash(stage.name, hash);
  dump::FileKey key = {hash, hash + 1};
  for (int32_t k : entry.files) {
    auto at = static_cast<size_t>(k);
    const dump::FileEntry& file = model.files()[at];
    auto place = static_cast<uint64_t>(file.role) << 32 | static_cast<uint32_t>(file.stage);
    for (size_t word = 0; word < key.size(); ++word)
      key[word] = QuickMix(QuickMix(key[word], files[at][word]), place);
  }
  return key;
}

}  // namespace hloscope::app

// A file for each key: a table of one line.
#include "core/backends/libraries/autotune_cache.h"

#include <fmt/format.h>

#include <array>

#include "core/base/quick_hash.h"

namespace hloscope::replay::libraries {
namespace {

constexpr std::string_view kFolder = "choices";
// A choice is less than a KiB: tens of thousands.
constexpr int64_t kMaxBytes = int64_t{16} << 20;

std::string NameOf(const AutotuneKey& key) {
  return RowOf({.key = key, .version = {}, .way = {}, .from = {}});
}
DiskCache::Words StampOf(std::string_view name) {
  return QuickHashes(name, std::array<uint64_t, 2>{1, 2});
}

}  // namespace

AutotuneCache::AutotuneCache() : files_(DiskCache::FolderOfUser(kFolder), kMaxBytes) {}

std::optional<AutotuneResult> AutotuneCache::Load(const AutotuneKey& key, std::string& why) const {
  if (files_.folder().empty()) return std::nullopt;
  const std::string name = NameOf(key);
  const auto text = files_.Load(name, StampOf(name));
  if (!text) {
    why = files_.WhyRefused(name);
    return std::nullopt;
  }
  auto choices = ReadTable(*text, files_.folder());
  if (!choices.has_value() || choices->size() != 1 || choices->front().key != key) {
    why = fmt::format("{}: it has no autotune result of this format", files_.PathOf(name));
    return std::nullopt;
  }
  return std::move(choices->front());
}

void AutotuneCache::Store(const AutotuneResult& choice) const {
  const std::string name = NameOf(choice.key);
  files_.Store(name, StampOf(name), TableOf({RowOf(choice)}));
}

}  // namespace hloscope::replay::libraries

// A sorted table, and its form in the cache.
#include "core/dump/listing/head_table.h"

#include <algorithm>
#include <chrono>

#include "core/base/quick_hash.h"
#include "core/dump/listing/listing.h"
#include "core/dump/listing/packed_bytes.h"

namespace hloscope::dump {
namespace {

// The fixed part of an entry; names and problems follow.
struct PackedHead {
  FileKey key = {};
  int64_t instructions = 0, computations = 0, fusions = 0;
  uint8_t kind = 0, end = 0, counted = 0, has_counts = 0;
  uint32_t reserved = 0;
};

bool IsSound(const PackedHead& packed) {
  return packed.kind <= static_cast<uint8_t>(FileKind::kUnknown) &&
         packed.end <= static_cast<uint8_t>(TextEnd::kBrace);
}

}  // namespace

FileKey KeyOf(const ListedFile& file) {
  const uint64_t path = QuickHash(file.path, 1);
  FileKey key;
  for (size_t k = 0; k < key.size(); ++k) {
    uint64_t hash = QuickMix(path + k, static_cast<uint64_t>(file.bytes));
    hash = QuickMix(hash, static_cast<uint64_t>(file.changed_ns));
    key[k] = QuickMix(hash, file.inode);
  }
  return key;
}

int64_t NowNs() {
  using namespace std::chrono;
  return duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count();
}

bool IsSettledTime(int64_t changed_ns, int64_t now_ns) {
  // Times of whole seconds come from file systems that keep no others.
  constexpr int64_t kSecond = 1'000'000'000, kFine = 50'000'000, kCoarse = 2 * kSecond;
  int64_t grain = changed_ns % kSecond == 0 ? kCoarse : kFine;
  return changed_ns < now_ns - grain;
}

bool IsSettled(const ListedFile& file, int64_t now_ns) {
  return IsSettledTime(file.changed_ns, now_ns);
}

void HeadTable::Sort() { std::ranges::sort(heads_, {}, &Known::key); }

const FileHead* HeadTable::Find(const FileKey& key) const {
  auto at = std::ranges::lower_bound(heads_, key, {}, &Known::key);
  return at != heads_.end() && at->key == key ? &at->head : nullptr;
}

void HeadTable::Write(std::string& out) const {
  PutPacked(out, static_cast<uint64_t>(heads_.size()));
  for (const Known& known : heads_) {
    const FileHead& head = known.head;
    const StageCounts counts = head.counts.value_or(StageCounts{});
    PutPacked(out, PackedHead{known.key, counts.instructions, counts.computations, counts.fusions,
                              static_cast<uint8_t>(head.kind), static_cast<uint8_t>(head.end),
                              static_cast<uint8_t>(head.counted),
                              static_cast<uint8_t>(head.counts.has_value())});
    PutPackedText(out, counts.module_name);
    PutPackedText(out, head.problem);
  }
}

std::optional<HeadTable> HeadTable::Take(std::string_view& bytes) {
  uint64_t count = 0;
  if (!TakePacked(bytes, count) || count > bytes.size() / sizeof(PackedHead)) return std::nullopt;
  HeadTable table;
  table.heads_.resize(count);
  for (Known& known : table.heads_) {
    PackedHead packed;
    StageCounts counts;
    bool whole = TakePacked(bytes, packed) && IsSound(packed) &&
                 TakePackedText(bytes, counts.module_name) &&
                 TakePackedText(bytes, known.head.problem);
    if (!whole) return std::nullopt;
    counts.instructions = packed.instructions;
    counts.computations = packed.computations;
    counts.fusions = packed.fusions;
    known.key = packed.key;
    known.head.kind = static_cast<FileKind>(packed.kind);
    known.head.end = static_cast<TextEnd>(packed.end);
    known.head.counted = packed.counted != 0;
    if (packed.has_counts != 0) known.head.counts = std::move(counts);
  }
  table.Sort();
  return table;
}

}  // namespace hloscope::dump

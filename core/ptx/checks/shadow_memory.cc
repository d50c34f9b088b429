// ShadowMemory: regions, found by address.
#include "core/ptx/checks/shadow_memory.h"

namespace hloscope::ptx {

ShadowMemory::Region& ShadowMemory::Add(std::span<const std::byte> memory, bool written) {
  Region& region = regions_.emplace_back();
  region.data = memory.data();
  region.bytes = memory.size();
  bytes_ += memory.size();
  region.unwritten.Assign(memory.size(), !written);
  return region;
}

ShadowMemory::Region* ShadowMemory::Find(std::span<const std::byte> memory) {
  for (Region& region : regions_) {
    if (memory.data() < region.data) continue;
    const uint64_t at = region.OffsetOf(memory.data());
    if (at <= region.bytes && memory.size() <= region.bytes - at) return &region;
  }
  return nullptr;
}

void ShadowMemory::Written(std::span<const std::byte> memory) {
  Region* const region = Find(memory);
  if (region == nullptr) return;
  const uint64_t at = region->OffsetOf(memory.data());
  region->unwritten.Fill(at, at + memory.size(), false);
}

void ShadowMemory::Copied(const std::byte* from, const std::byte* to, uint64_t bytes) {
  const Region* const source = Find({from, bytes});
  Region* const target = Find({to, bytes});
  if (source == nullptr || target == nullptr) return;
  const uint64_t read = source->OffsetOf(from), write = target->OffsetOf(to);
  std::vector<uint64_t> bits;  // all of them first: the two may overlap
  for (uint64_t at = 0; at < bytes; at += 64)
    bits.push_back(source->unwritten.Get(
        read + at, static_cast<uint32_t>(std::min<uint64_t>(64, bytes - at))));
  for (uint64_t at = 0; at < bytes; at += 64)
    target->unwritten.Put(write + at, static_cast<uint32_t>(std::min<uint64_t>(64, bytes - at)),
                          bits[at / 64]);
}

std::optional<uint64_t> ShadowMemory::FirstUnwritten(std::span<const std::byte> memory) {
  const Region* const region = Find(memory);
  if (region == nullptr) return std::nullopt;
  const uint64_t at = region->OffsetOf(memory.data());
  const uint64_t first = region->unwritten.FirstIn(at, at + memory.size());
  if (first == at + memory.size()) return std::nullopt;
  return first - at;
}

ShadowMemory& ShadowMemory::CopyFor(size_t thread,
                                    std::span<const std::span<const std::byte>> memory) {
  while (copies_.size() <= thread) copies_.push_back(std::make_unique<ShadowMemory>());
  ShadowMemory& copy = *copies_[thread];
  for (size_t i = copy.regions_.size(); i < regions_.size(); ++i)
    copy.Add({regions_[i].data, regions_[i].bytes}, true);
  for (const std::span<const std::byte> part : memory) {
    const Region* const from = Find(part);
    if (from == nullptr) continue;
    const uint64_t at = from->OffsetOf(part.data());
    copy.Find(part)->unwritten.Take(from->unwritten, at, at + part.size());
  }
  return copy;
}

void ShadowMemory::Keep(ShadowMemory& copy, std::span<const std::span<const std::byte>> memory) {
  for (const std::span<const std::byte> part : memory) {
    Region* const to = Find(part);
    if (to == nullptr) continue;
    const uint64_t at = to->OffsetOf(part.data());
    to->unwritten.Keep(copy.Find(part)->unwritten, at, at + part.size());
  }
}

const KernelFacts& ShadowMemory::FactsOf(const Kernel& kernel) {
  const auto [found, is_new] = facts_.try_emplace(&kernel);
  if (is_new) found->second = ptx::FactsOf(kernel);
  return found->second;
}

}  // namespace hloscope::ptx

// Images of windows; windows that overlap are one image.
#include "core/ptx/reference/memory.h"

#include <algorithm>
#include <cstring>

namespace hloscope::ptx {

ScalarReferenceMemory::ScalarReferenceMemory(const Block& block) : memory_(*block.memory) {
  for (const Window& window : memory_.arguments) Cover(window);
  for (const Window& window : memory_.variables) Cover(window);
  Cover(memory_.parameters);
  for (auto& [begin, bytes] : images_) std::memcpy(bytes.data(), begin, bytes.size());
  shared_.assign(block.shared.size(), std::byte{0xff});
  local_.assign(block.warps.size() * kLanes,
                std::vector<std::byte>(block.local_bytes, std::byte{0xff}));
}

void ScalarReferenceMemory::Cover(const Window& window) {
  if (window.bytes == 0) return;
  const std::byte* begin = window.data;
  const std::byte* end = begin + window.bytes;
  auto it = images_.lower_bound(begin);
  if (it != images_.begin()) {
    const auto before = std::prev(it);
    if (before->first + before->second.size() > begin) it = before;
  }
  while (it != images_.end() && it->first < end) {
    begin = std::min(begin, it->first);
    end = std::max(end, it->first + it->second.size());
    it = images_.erase(it);
  }
  images_[begin].resize(static_cast<size_t>(end - begin));
}

const Window* ScalarReferenceMemory::WindowOf(uint64_t window) const {
  if (window == kParamWindow) return &memory_.parameters;
  if (window >= kFirstVariableWindow) {
    const uint64_t i = window - kFirstVariableWindow;
    return i < memory_.variables.size() ? &memory_.variables[i] : nullptr;
  }
  const uint64_t i = window - kFirstArgumentWindow;
  return i < memory_.arguments.size() ? &memory_.arguments[i] : nullptr;
}

ScalarReferenceMemory::Found ScalarReferenceMemory::Find(uint32_t thread, StateSpace space,
                                                         uint64_t address) const {
  uint64_t window = address >> kWindowShift;
  uint64_t offset = address & ((uint64_t{1} << kWindowShift) - 1);
  const auto inside = [&](uint64_t which) {
    window = which;
    offset = address;
  };
  if (IsShared(space)) inside(kSharedWindow);
  if (space == StateSpace::kLocal) inside(kLocalWindow);
  if (space == StateSpace::kParam || space == StateSpace::kParamEntry) inside(kParamWindow);
  if (window == kSharedWindow || window == kLocalWindow) {
    auto& bytes = window == kSharedWindow ? shared_ : local_[thread];
    if (offset > bytes.size()) return {};
    const uint64_t left = bytes.size() - offset;
    return {&bytes, offset, left, left, true};
  }
  const Window* const found = WindowOf(window);
  if (found == nullptr || offset > found->padded) return {};
  const uint64_t held = offset < found->bytes ? found->bytes - offset : 0;
  if (held == 0) return {nullptr, 0, 0, found->padded - offset, false};
  const std::byte* const at = found->data + offset;
  const auto image = std::prev(images_.upper_bound(at));
  return {&image->second, static_cast<uint64_t>(at - image->first), held, found->padded - offset,
          found->writable};
}

bool ScalarReferenceMemory::Read(uint32_t thread, StateSpace space, uint64_t address,
                                 uint32_t bytes, void* into) const {
  const Found found = Find(thread, space, address);
  if (bytes > found.padded) return false;
  std::memset(into, 0xff, bytes);
  const auto held = std::min<uint64_t>(bytes, found.held);
  if (held > 0) std::memcpy(into, found.bytes->data() + found.offset, held);
  return true;
}

bool ScalarReferenceMemory::Write(uint32_t thread, StateSpace space, uint64_t address,
                                  uint32_t bytes, const void* from) {
  const Found found = Find(thread, space, address);
  if (bytes > found.held || !found.writable) return false;
  std::memcpy(found.bytes->data() + found.offset, from, bytes);
  return true;
}

std::optional<std::pair<uint64_t, uint64_t>> ScalarReferenceMemory::Difference() const {
  for (size_t a = 0; a < memory_.arguments.size(); ++a) {
    const Window& window = memory_.arguments[a];
    if (window.bytes == 0) continue;
    const auto image = std::prev(images_.upper_bound(window.data));
    const std::byte* const ours = image->second.data() + (window.data - image->first);
    const auto [at, end] = std::mismatch(ours, ours + window.bytes, window.data);
    if (at != ours + window.bytes) return std::pair(a, static_cast<uint64_t>(at - ours));
  }
  return std::nullopt;
}

}  // namespace hloscope::ptx

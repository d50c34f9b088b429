// Id<Tag>: a 32-bit index into a flat array, typed so that two kinds of ids cannot be mixed up.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace hloscope {

template <typename Tag>
struct Id {
  static constexpr uint32_t kNone = 0xffffffffu;

  uint32_t index = kNone;

  constexpr Id() = default;
  constexpr explicit Id(uint32_t i) : index(i) {}
  constexpr explicit Id(size_t i) : index(static_cast<uint32_t>(i)) {}
  constexpr bool valid() const { return index != kNone; }
  friend constexpr auto operator<=>(Id, Id) = default;
};

}  // namespace hloscope

template <typename Tag>
struct std::hash<hloscope::Id<Tag>> {
  size_t operator()(hloscope::Id<Tag> id) const noexcept { return id.index; }
};

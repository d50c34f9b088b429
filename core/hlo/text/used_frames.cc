// Stack frames renumbered by first use.
#include "core/hlo/text/used_frames.h"

#include <algorithm>
#include <bit>

#include "core/base/quick_hash.h"

namespace hloscope::hlo {
namespace {

size_t SlotCount(size_t rows) { return std::bit_ceil(rows * 2 + 2); }

}  // namespace

template <typename Row, typename Hash, typename Equal>
void UsedFrames::Renumbering::FindEqual(const std::vector<Row>& rows, Hash hash, Equal equal) {
  std::vector<uint32_t> slots(SlotCount(rows.size()), 0);
  first_equal.assign(rows.size() + 1, 0);
  numbers.assign(rows.size() + 1, 0);
  for (size_t i = 0; i < rows.size(); ++i) {
    size_t slot = hash(rows[i]) & (slots.size() - 1);
    while (slots[slot] != 0 && !equal(rows[slots[slot] - 1], rows[i])) {
      slot = (slot + 1) & (slots.size() - 1);
    }
    if (slots[slot] == 0) slots[slot] = static_cast<uint32_t>(i + 1);
    first_equal[i + 1] = static_cast<int32_t>(slots[slot]);
  }
}

template <typename Row>
int32_t UsedFrames::Renumbering::Use(int32_t id, const Row& row, std::vector<Row>& rows) {
  int32_t& number = numbers[static_cast<size_t>(First(id))];
  if (number == 0) {
    rows.push_back(row);
    number = static_cast<int32_t>(rows.size());
  }
  return number;
}

UsedFrames::UsedFrames(const Module& module) : given_(module.header().stack_frames) {
  if (given_.frames.empty()) return;
  FindEqualRows();
  numbers_.resize(given_.frames.size() + 1, kUnknown);
  frame_slots_.resize(SlotCount(given_.frames.size()), 0);
  for (const Instruction& i : module.instructions()) {
    const Attribute* metadata = module.Find(i, AttributeKey::kMetadata);
    if (metadata == nullptr) continue;
    int32_t frame = module.Of<OpMetadata>(*metadata).stack_frame_id;
    if (frame > 0 && static_cast<size_t>(frame) < numbers_.size() &&
        numbers_[static_cast<size_t>(frame)] == kUnknown) {
      Use(frame);
    }
  }
  std::replace_if(numbers_.begin(), numbers_.end(), [](int32_t n) { return n < 0; }, 0);
}

void UsedFrames::FindEqualRows() {
  auto name_hash = [](StringId name) { return QuickMix(0, name.index); };
  files_.FindEqual(given_.file_names, name_hash, std::equal_to<>());
  functions_.FindEqual(given_.function_names, name_hash, std::equal_to<>());
  auto file = [this](int32_t id) { return files_.Has(id) ? files_.First(id) : -1; };
  auto function = [this](int32_t id) { return functions_.Has(id) ? functions_.First(id) : -1; };
  auto hash = [&](const StackFrames::Location& l) {
    uint64_t h = QuickMix(QuickMix(0, file(l.file_name_id)), function(l.function_name_id));
    return QuickMix(QuickMix(QuickMix(QuickMix(h, l.line), l.end_line), l.column), l.end_column);
  };
  auto equal = [&](const StackFrames::Location& a, const StackFrames::Location& b) {
    return a.line == b.line && a.end_line == b.end_line && a.column == b.column &&
           a.end_column == b.end_column && file(a.file_name_id) == file(b.file_name_id) &&
           function(a.function_name_id) == function(b.function_name_id);
  };
  locations_.FindEqual(given_.locations, hash, equal);
}

bool UsedFrames::IsSound(int32_t frame) const {
  if (frame <= 0 || static_cast<size_t>(frame) > given_.frames.size()) return false;
  int32_t location = given_.frames[static_cast<size_t>(frame) - 1].file_location_id;
  if (!locations_.Has(location)) return false;
  const StackFrames::Location& l = given_.locations[static_cast<size_t>(location) - 1];
  return files_.Has(l.file_name_id) && functions_.Has(l.function_name_id);
}

// Numbers a frame after its callers. One unsound frame spoils all that it called.
void UsedFrames::Use(int32_t frame) {
  chain_.clear();
  int32_t parent = 0;
  bool sound = true;
  while (frame != 0) {
    sound = IsSound(frame) && numbers_[static_cast<size_t>(frame)] != kPending;
    if (!sound) break;
    int32_t& number = numbers_[static_cast<size_t>(frame)];
    if (number != kUnknown) {
      parent = number;
      sound = number != 0;
      break;
    }
    number = kPending;
    chain_.push_back(frame);
    frame = given_.frames[static_cast<size_t>(frame) - 1].parent_frame_id;
  }
  for (size_t k = chain_.size(); k-- > 0;) {
    auto index = static_cast<size_t>(chain_[k]);
    parent = sound ? Add(given_.frames[index - 1], parent) : 0;
    numbers_[index] = parent;
  }
}

int32_t UsedFrames::Add(const StackFrames::Frame& frame, int32_t parent) {
  StackFrames::Location l = given_.locations[static_cast<size_t>(frame.file_location_id) - 1];
  auto name = [](const std::vector<StringId>& names, int32_t id) {
    return names[static_cast<size_t>(id) - 1];
  };
  l.file_name_id =
      files_.Use(l.file_name_id, name(given_.file_names, l.file_name_id), tables_.file_names);
  l.function_name_id = functions_.Use(
      l.function_name_id, name(given_.function_names, l.function_name_id), tables_.function_names);
  StackFrames::Frame added = {locations_.Use(frame.file_location_id, l, tables_.locations), parent};
  size_t slot = QuickMix(QuickMix(0, added.file_location_id), parent) & (frame_slots_.size() - 1);
  while (frame_slots_[slot] != 0 && !(tables_.frames[frame_slots_[slot] - 1] == added)) {
    slot = (slot + 1) & (frame_slots_.size() - 1);
  }
  if (frame_slots_[slot] == 0) {
    tables_.frames.push_back(added);
    frame_slots_[slot] = static_cast<uint32_t>(tables_.frames.size());
  }
  return static_cast<int32_t>(frame_slots_[slot]);
}

}  // namespace hloscope::hlo

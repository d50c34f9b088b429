// Stack frames renumbered by first use.
#include "core/hlo/used_frames.h"

#include <algorithm>

namespace hloscope::hlo {

UsedFrames::UsedFrames(const Module& module) : given_(module.header().stack_frames) {
  if (given_.frames.empty()) return;
  numbers_.resize(given_.frames.size() + 1, kUnknown);
  for (const Instruction& i : module.instructions()) {
    const Attribute* metadata = module.Find(i, AttributeKey::kMetadata);
    if (metadata != nullptr) Use(module.Of<OpMetadata>(*metadata).stack_frame_id);
  }
  std::replace_if(numbers_.begin(), numbers_.end(), [](int32_t n) { return n < 0; }, 0);
}

bool UsedFrames::IsSound(int32_t frame) const {
  auto within = [](int32_t id, const auto& table) {
    return id > 0 && static_cast<size_t>(id) <= table.size();
  };
  if (!within(frame, given_.frames)) return false;
  int32_t location = given_.frames[static_cast<size_t>(frame) - 1].file_location_id;
  if (!within(location, given_.locations)) return false;
  const StackFrames::Location& l = given_.locations[static_cast<size_t>(location) - 1];
  return within(l.file_name_id, given_.file_names) &&
         within(l.function_name_id, given_.function_names);
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
  l.file_name_id = AddName(given_.file_names[static_cast<size_t>(l.file_name_id) - 1], files_,
                           tables_.file_names);
  l.function_name_id = AddName(given_.function_names[static_cast<size_t>(l.function_name_id) - 1],
                               functions_, tables_.function_names);
  auto [location, new_location] = locations_.try_emplace(
      {l.file_name_id, l.function_name_id, l.line, l.end_line, l.column, l.end_column},
      static_cast<int32_t>(tables_.locations.size()) + 1);
  if (new_location) tables_.locations.push_back(l);
  auto [added, new_frame] = frames_.try_emplace({location->second, parent},
                                                static_cast<int32_t>(tables_.frames.size()) + 1);
  if (new_frame) tables_.frames.push_back({location->second, parent});
  return added->second;
}

int32_t UsedFrames::AddName(StringId name, std::map<StringId, int32_t>& ids,
                            std::vector<StringId>& names) {
  auto [id, is_new] = ids.try_emplace(name, static_cast<int32_t>(names.size()) + 1);
  if (is_new) names.push_back(name);
  return id->second;
}

}  // namespace hloscope::hlo

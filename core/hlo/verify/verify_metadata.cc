// Original values have the structure of the shape they stand on; metadata refers to what exists.
#include "core/base/counted.h"
#include "core/hlo/verify/verify_context.h"

namespace hloscope::hlo {
namespace {

// Same tuples all the way down; parts may be left out.
bool SameStructure(const OriginalValue::Node& root, const Shape& shape) {
  std::vector<std::pair<const OriginalValue::Node*, const Shape*>> work{{&root, &shape}};
  while (!work.empty()) {
    auto [node, part] = work.back();
    work.pop_back();
    if (node->is_tuple && node->children.empty()) continue;
    if (node->is_tuple != part->IsTuple()) {
      if (part->IsTuple() && part->elements().empty()) continue;
      return false;
    }
    if (!node->is_tuple) continue;
    if (node->children.size() > part->elements().size()) return false;
    for (size_t c = 0; c < node->children.size(); ++c) {
      work.emplace_back(&node->children[c], &part->elements()[c]);
    }
  }
  return true;
}

void CheckOrigin(VerifyContext& context, InstructionId id, const OriginalValue& origin) {
  if (origin.synthetic_call) return;
  if (SameStructure(origin.root, context.module().shape(id))) return;
  context.Error(id, "original-value",
                "the origin of " + context.Name(id) + " does not match the tuples of its shape " +
                    context.Text(id));
}

void CheckMetadata(VerifyContext& context, InstructionId id, const OpMetadata& metadata) {
  const Module& module = context.module();
  int64_t frames = static_cast<int64_t>(module.header().stack_frames.frames.size());
  if (metadata.stack_frame_id < 0 || (frames != 0 && metadata.stack_frame_id > frames)) {
    context.Strict(id, "stack-frame",
                   context.Name(id) + " has stack_frame_id " +
                       std::to_string(metadata.stack_frame_id) + ", but the module has " +
                       Counted(frames, "stack frame"));
  }
  std::string_view before = module[metadata.scheduling_name];
  std::string_view name = module.name(id);
  if (before.empty() || before == name) return;
  auto has = [&](std::string_view suffix) { return name.find(suffix) != std::string_view::npos; };
  if (has(".remat") || has(".clone")) return;
  context.Strict(id, "renamed",
                 context.Name(id) + " was scheduled as %" + std::string(before.substr(0, 100)));
}

}  // namespace

void VerifyMetadata(VerifyContext& context) {
  const Module& module = context.module();
  for (uint32_t k = 0; k < module.instructions().size() && !context.full(); ++k) {
    InstructionId id(k);
    for (const Attribute& a : module.attributes(module[id])) {
      if (a.key == AttributeKey::kOrigin) CheckOrigin(context, id, module.Of<OriginalValue>(a));
      if (a.key == AttributeKey::kMetadata) CheckMetadata(context, id, module.Of<OpMetadata>(a));
    }
  }
}

}  // namespace hloscope::hlo

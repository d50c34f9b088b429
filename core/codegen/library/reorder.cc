#include "core/codegen/library/reorder.h"

namespace hloscope::codegen {

void Reorder::Make(const dnnl::memory::desc& source, const dnnl::memory::desc& target) {
  from_ = source;
  to_ = target;
  is_needed_ = true;
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const dnnl::engine& engine = OneDnnEngine();
  const dnnl::reorder::primitive_desc description(engine, source, engine, target, attributes);
  scratch_ = description.scratchpad_desc();
  primitive_ = dnnl::reorder(description);
}

void Reorder::MakeUnlessSame(const dnnl::memory::desc& source, const dnnl::memory::desc& target) {
  if (source != target) return Make(source, target);
  from_ = to_ = source;
}

Status Reorder::Run(const std::byte* source, const std::byte* target) const {
  const std::array arguments = {OneDnnArgument{DNNL_ARG_FROM, &from_, source},
                                OneDnnArgument{DNNL_ARG_TO, &to_, target}};
  return RunOneDnn(primitive_, scratch_, arguments);
}

}  // namespace hloscope::codegen

// Library calls by instruction.
#include "core/codegen/library/library_calls.h"

#include <map>
#include <string>
#include <unordered_map>

#include "core/codegen/library/convolution_call.h"
#include "core/codegen/library/dot_call.h"
#include "core/hlo/window.h"

namespace hloscope::codegen {

using compile::KernelCode;
using hlo::InstructionId;
using hlo::Module;

namespace {

class Calls : public compile::KernelLibrary {
 public:
  const KernelCode* Find(InstructionId id) const override {
    const auto it = calls_.find(id.index);
    return it == calls_.end() ? nullptr : it->second.get();
  }
  int64_t function_count() const override { return static_cast<int64_t>(made_.size()); }

  // `key` is the same for calls that are the same.
  Status Add(const Module& module, InstructionId id, const std::string& key) {
    auto [it, is_new] = made_.try_emplace(key);
    if (is_new) {
      Result<KernelCode> code = module[id].opcode == hlo::Opcode::kDot
                                    ? MakeDotCall(module, id)
                                    : MakeConvolutionCall(module, id);
      if (code.has_value()) {
        it->second = std::make_shared<const KernelCode>(*std::move(code));
      } else if (code.error().error_class != ErrorClass::kUnsupported) {
        return std::unexpected(std::move(code).error());
      }
    }
    if (it->second != nullptr) calls_.emplace(id.index, it->second);
    return {};
  }

 private:
  std::map<std::string, std::shared_ptr<const KernelCode>> made_;  // null: there is no code
  std::unordered_map<uint32_t, std::shared_ptr<const KernelCode>> calls_;
};

// Shapes and attributes.
std::string KeyOf(const Module& module, InstructionId id) {
  std::string key(hlo::ToString(module.shape(id), false));
  for (const InstructionId operand : module.operands(id)) {
    key += hlo::ToString(module.shape(operand), false);
  }
  for (const hlo::AttributeKey attribute :
       {hlo::AttributeKey::kLhsBatchDims, hlo::AttributeKey::kRhsBatchDims,
        hlo::AttributeKey::kLhsContractingDims, hlo::AttributeKey::kRhsContractingDims}) {
    key += '|';
    for (const int64_t d : module.GetInts(module[id], attribute)) key += std::to_string(d) + ",";
  }
  if (const auto* window = module.Get<hlo::Window>(module[id], hlo::AttributeKey::kWindow)) {
    for (const hlo::WindowDimension& each : window->dimensions) key += hlo::Text(each);
  }
  const auto* dims = module.Get<hlo::ConvolutionDims>(module[id], hlo::AttributeKey::kDimLabels);
  if (dims == nullptr) return key;
  key += std::to_string(module.GetInt(module[id], hlo::AttributeKey::kFeatureGroupCount, 1));
  for (const int64_t d : {dims->input_batch, dims->input_feature, dims->kernel_input_feature,
                          dims->kernel_output_feature, dims->output_batch, dims->output_feature}) {
    key += "|" + std::to_string(d);
  }
  for (const auto* list : {&dims->input_spatial, &dims->kernel_spatial, &dims->output_spatial}) {
    key += '|';
    for (const int64_t d : *list) key += std::to_string(d) + ",";
  }
  return key;
}

}  // namespace

Result<std::unique_ptr<compile::KernelLibrary>> MakeLibraryCalls(
    std::shared_ptr<const Module> module, std::span<const InstructionId> calls) {
  auto made = std::make_unique<Calls>();
  for (const InstructionId id : calls) HLOSCOPE_TRY(made->Add(*module, id, KeyOf(*module, id)));
  return made;
}

}  // namespace hloscope::codegen

// Parameters of the entry computation numbered again.
#include "core/backends/pjrt/exported_entry.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/base/counted.h"
#include "core/hlo/rewrite/rewriter.h"

namespace hloscope::replay {

using hlo::Attribute;
using hlo::AttributeKey;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;
using hlo::Shape;

namespace {

class EntryRewriter {
 public:
  EntryRewriter(std::shared_ptr<const Module> module, const dump::JaxExport& exported)
      : module_(std::move(module)), exported_(exported), rewriter_(module_) {}

  Result<std::shared_ptr<const Module>> Run(std::optional<int32_t> platform_index,
                                            std::span<const dump::Dimensions> shapes) {
    const std::vector<InstructionId> old = module_->Parameters(module_->entry_id());
    const size_t first = platform_index ? 1 : 0;
    if (old.size() != first + exported_.kept.size()) {
      return InputError(fmt::format("the module takes {}, its export says {}",
                                    Counted(old.size(), "argument"), first + exported_.kept.size()),
                        "export it again with a jax of another version");
    }
    if (platform_index) HLOSCOPE_TRY(FixPlatform(old.front(), *platform_index));
    size_t next = 0;
    for (size_t k = 0; k < exported_.arguments.size(); ++k) {
      const bool kept = next < exported_.kept.size() && exported_.kept[next] == k;
      kept ? Renumber(old[first + next++], static_cast<int64_t>(k))
           : AddUnused(static_cast<int64_t>(k), shapes[k]);
    }
    RenumberHeader(static_cast<int64_t>(first));
    HLOSCOPE_ASSIGN_OR_RETURN(hlo::RewriteResult result, rewriter_.Finish());
    return std::move(result.module);
  }

 private:
  Status FixPlatform(InstructionId id, int32_t index) {
    const Shape shape = rewriter_.shape(id);
    if (!shape.IsArray() || shape.rank() != 0 || shape.element_type() != hlo::ElementType::kS32) {
      return InputError(
          fmt::format("the platform index is {}, expected s32[]", hlo::ToString(shape, false)));
    }
    const Attribute value = rewriter_.builder().Make(
        AttributeKey::kConstantValue, hlo::Literal::Of<int32_t>(shape, std::span(&index, 1)));
    Replace(id, rewriter_.Add(module_->entry_id(), "platform_index", Opcode::kConstant, shape, {},
                              {{value}}));
    return {};
  }

  void Renumber(InstructionId id, int64_t number) {
    std::vector<Attribute> attributes;
    for (const Attribute& attribute : rewriter_.attributes(id)) {
      attributes.push_back(attribute.key == AttributeKey::kParameterNumber
                               ? rewriter_.builder().MakeInt(attribute.key, number)
                               : attribute);
    }
    const std::string name(rewriter_.name(id));
    Replace(id, rewriter_.Add(module_->entry_id(), name, Opcode::kParameter, rewriter_.shape(id),
                              {}, attributes));
  }

  void AddUnused(int64_t number, const dump::Dimensions& dimensions) {
    const dump::ExportedArray& array =
        exported_.arrays[exported_.arguments[static_cast<size_t>(number)]];
    const Attribute attribute = rewriter_.builder().MakeInt(AttributeKey::kParameterNumber, number);
    rewriter_.Add(module_->entry_id(), fmt::format("unused_argument.{}", number),
                  Opcode::kParameter, Shape::Array(array.type, dimensions).WithDefaultLayouts(), {},
                  {{attribute}});
  }

  void Replace(InstructionId from, InstructionId to) {
    rewriter_.ReplaceAllUses(from, to);
    rewriter_.Remove(from);
  }

  // What the header says of parameters by their numbers.
  void RenumberHeader(int64_t first) {
    hlo::ModuleHeader& header = rewriter_.builder().header();
    const auto number_of = [&](int64_t parameter) {
      return int64_t{exported_.kept[static_cast<size_t>(parameter - first)]};
    };
    const auto is_there = [&](int64_t parameter) {
      return parameter >= first && std::cmp_less(parameter - first, exported_.kept.size());
    };
    std::erase_if(header.input_output_alias, [&](auto& a) { return !is_there(a.parameter); });
    std::erase_if(header.buffer_donors, [&](auto& d) { return !is_there(d.parameter); });
    for (auto& alias : header.input_output_alias) alias.parameter = number_of(alias.parameter);
    for (auto& donor : header.buffer_donors) donor.parameter = number_of(donor.parameter);
    std::vector<bool>& propagates = header.allow_spmd_sharding_propagation_to_parameters;
    if (propagates.size() > 1) {
      std::vector<bool> each(exported_.arguments.size(), false);
      for (size_t k = 0; k < propagates.size(); ++k) {
        const auto parameter = static_cast<int64_t>(k);
        if (is_there(parameter)) each[static_cast<size_t>(number_of(parameter))] = propagates[k];
      }
      propagates = std::move(each);
    }
    header.entry_layout.reset();
  }

  std::shared_ptr<const Module> module_;
  const dump::JaxExport& exported_;
  hlo::Rewriter rewriter_;
};

}  // namespace

Result<std::shared_ptr<const Module>> WithExportedArguments(
    std::shared_ptr<const Module> module, const dump::JaxExport& exported,
    std::optional<int32_t> platform_index, std::span<const dump::Dimensions> shapes) {
  return EntryRewriter(std::move(module), exported).Run(platform_index, shapes);
}

}  // namespace hloscope::replay

#include "core/codegen/library/made_calls.h"

#include <map>
#include <string>
#include <unordered_map>

#include "core/codegen/emit/kernel.h"

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
  Status Add(const Module& module, InstructionId id, const std::string& key,
             MakeCallFunction make) {
    auto [it, is_new] = made_.try_emplace(key);
    if (is_new) {
      Result<KernelCode> code = make(module, id);
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

}  // namespace

Result<std::unique_ptr<compile::KernelLibrary>> MakeCalls(std::shared_ptr<const Module> module,
                                                          std::span<const InstructionId> calls,
                                                          MakeCallFunction make) {
  auto made = std::make_unique<Calls>();
  for (const InstructionId id : calls)
    HLOSCOPE_TRY(made->Add(*module, id, KeyOf(Kernel(*module, id)), make));
  return made;
}

}  // namespace hloscope::codegen

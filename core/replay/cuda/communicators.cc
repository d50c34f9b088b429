// Made and given back by one thread, for all GPUs at once.
#include "core/replay/cuda/communicators.h"

#include <cstdlib>

namespace hloscope::replay::cuda {
namespace {

// Sums in the switch between GPUs come in no certain order: left out unless somebody asks for them,
// so that every run has the same bits.
void LeaveOutSwitches() {
  static std::once_flag once;
  std::call_once(once, [] { setenv("NCCL_NVLS_ENABLE", "0", 0); });
}

}  // namespace

Result<std::shared_ptr<Clique>> Clique::Make(std::shared_ptr<const Library> library,
                                             std::vector<std::shared_ptr<const Device>> gpus) {
  LeaveOutSwitches();
  std::shared_ptr<Clique> out(new Clique(std::move(library), std::move(gpus)));
  std::vector<int> numbers;
  for (const auto& gpu : out->gpus_) numbers.push_back(gpu->ordinal());
  std::vector<void*> ranks(numbers.size());
  const Library& nccl = *out->library_;
  HLOSCOPE_TRY(nccl.Check(
      nccl->CommunicatorsMake(ranks.data(), static_cast<int>(ranks.size()), numbers.data()),
      "bringing {} GPUs together", ranks.size()));
  out->ranks_ = std::move(ranks);
  return out;
}

Clique::~Clique() {
  if (is_aborted_) return;
  for (size_t r = 0; r < ranks_.size(); ++r) {
    gpus_[r]->Enter();
    (*library_)->CommunicatorDestroy(ranks_[r]);
  }
}

std::optional<Clique::Failure> Clique::Failed(const std::string& doing) const {
  for (size_t r = 0; r < ranks_.size(); ++r) {
    int failed = 0;
    const int answer = (*library_)->CommunicatorError(ranks_[r], &failed);
    const Status status = library_->Check(answer != 0 ? answer : failed, "{}", doing);
    if (!status.has_value()) return Failure{r, status.error()};
  }
  return std::nullopt;
}

void Clique::Abort() {
  if (is_aborted_) return;
  is_aborted_ = true;
  for (size_t r = 0; r < ranks_.size(); ++r) {
    gpus_[r]->Enter();
    (*library_)->CommunicatorAbort(ranks_[r]);
  }
}

Result<std::shared_ptr<Clique>> Communicators::Of(const std::vector<size_t>& gpus) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Clique>& clique = cliques_[gpus];
  if (clique == nullptr || clique->is_aborted()) {
    clique = nullptr;
    std::vector<std::shared_ptr<const Device>> members;
    for (const size_t gpu : gpus) members.push_back(gpus_[gpu]);
    HLOSCOPE_ASSIGN_OR_RETURN(clique, Clique::Make(library_, std::move(members)));
  }
  return clique;
}

}  // namespace hloscope::replay::cuda

// Made and given back by one thread, for all GPUs at once.
#include "core/backends/cuda/communicators.h"

#include <fmt/ranges.h>

#include <algorithm>
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

Result<std::shared_ptr<Clique>> Clique::Join(std::shared_ptr<const Library> library,
                                             std::shared_ptr<const Device> gpu, size_t rank,
                                             size_t ranks, const libraries::NcclName& name) {
  LeaveOutSwitches();
  std::shared_ptr<Clique> out(new Clique(std::move(library), {}));
  out->gpus_.resize(ranks);
  out->gpus_[rank] = std::move(gpu);
  std::vector<void*> all(ranks);
  const Library& nccl = *out->library_;
  HLOSCOPE_TRY(nccl.Check(
      nccl->CommunicatorJoin(&all[rank], static_cast<int>(ranks), name, static_cast<int>(rank)),
      "connecting {} ranks", ranks));
  out->ranks_ = std::move(all);
  return out;
}

Clique::~Clique() {
  if (is_aborted_) return;
  for (size_t r = 0; r < ranks_.size(); ++r) {
    if (ranks_[r] == nullptr) continue;
    gpus_[r]->Enter();
    (*library_)->CommunicatorDestroy(ranks_[r]);
  }
}

std::optional<Clique::Failure> Clique::Failed(const std::string& doing) const {
  for (size_t r = 0; r < ranks_.size(); ++r) {
    if (ranks_[r] == nullptr) continue;
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
    if (ranks_[r] == nullptr) continue;
    gpus_[r]->Enter();
    (*library_)->CommunicatorAbort(ranks_[r]);
  }
}

Result<std::shared_ptr<Clique>> Communicators::Join(const std::vector<size_t>& members,
                                                    const std::function<Status()>& look) {
  const auto own = std::ranges::find(members, static_cast<size_t>(ranks_->rank()));
  const std::string file = ranks_->NewName(fmt::format("nccl-of-{}", fmt::join(members, "-")));
  const Library& nccl = *library_;
  HLOSCOPE_TRY(gpus_[0]->Enter());
  libraries::NcclName name{};
  if (own == members.begin()) {
    HLOSCOPE_TRY(nccl.Check(nccl->CommunicatorName(&name), "naming a group of ranks"));
  }
  // NCCL itself would wait for ever for one that does not come. The first brings the name.
  const auto file_of = [&](size_t rank) { return fmt::format("{}-by-{}", file, rank); };
  HLOSCOPE_TRY(ranks_->Put(file_of(*own), {name.bytes.data(), name.bytes.size()}));
  for (const size_t member : members) {
    if (member == *own) continue;
    HLOSCOPE_ASSIGN_OR_RETURN(
        const std::string bytes,
        ranks_->Take(file_of(member), static_cast<int64_t>(member), "connecting ranks", look));
    if (member == members[0] && bytes.size() == name.bytes.size()) {
      std::ranges::copy(bytes, name.bytes.begin());
    }
  }
  return Clique::Join(library_, gpus_[0], static_cast<size_t>(own - members.begin()),
                      members.size(), name);
}

Result<std::shared_ptr<Clique>> Communicators::Of(const std::vector<size_t>& gpus,
                                                  const std::function<Status()>& look) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Clique>& clique = cliques_[gpus];
  if (clique == nullptr || clique->is_aborted()) {
    clique = nullptr;
    if (ranks_ != nullptr) {
      HLOSCOPE_ASSIGN_OR_RETURN(clique, Join(gpus, look));
      return clique;
    }
    std::vector<std::shared_ptr<const Device>> members;
    for (const size_t gpu : gpus) members.push_back(gpus_[gpu]);
    HLOSCOPE_ASSIGN_OR_RETURN(clique, Clique::Make(library_, std::move(members)));
  }
  return clique;
}

}  // namespace hloscope::replay::cuda

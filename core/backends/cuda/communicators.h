// Communicators: NCCL's, one for each GPU that meets at a collective, kept from run to run.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/backends/cuda/device.h"
#include "core/backends/libraries/library.h"
#include "core/replay/ranks.h"

namespace hloscope::replay::cuda {

using libraries::Library;

// Those of the GPUs that meet: the rank of each is its place in the list.
class Clique {
 public:
  // Unsupported error: NCCL refuses.
  static Result<std::shared_ptr<Clique>> Make(std::shared_ptr<const Library> library,
                                              std::vector<std::shared_ptr<const Device>> gpus);
  // Of GPUs of other processes: this one has that of `rank`, of `ranks`; all have the same name.
  static Result<std::shared_ptr<Clique>> Join(std::shared_ptr<const Library> library,
                                              std::shared_ptr<const Device> gpu, size_t rank,
                                              size_t ranks, const libraries::NcclName& name);
  ~Clique();
  Clique(const Clique&) = delete;
  Clique& operator=(const Clique&) = delete;

  const Library& library() const { return *library_; }
  void* rank(size_t r) const { return ranks_[r]; }
  // What went wrong since it was asked for: the rank, and NCCL's answer as an error that says what
  // was being done.
  struct Failure {
    size_t rank;
    Error error;
  };
  std::optional<Failure> Failed(const std::string& doing) const;
  // Ends whatever its GPUs wait for; it cannot be used any more.
  void Abort();
  bool is_aborted() const { return is_aborted_; }

 private:
  Clique(std::shared_ptr<const Library> library, std::vector<std::shared_ptr<const Device>> gpus)
      : library_(std::move(library)), gpus_(std::move(gpus)) {}

  std::shared_ptr<const Library> library_;
  std::vector<std::shared_ptr<const Device>> gpus_;
  std::vector<void*> ranks_;  // null: another process's
  bool is_aborted_ = false;
};

class Communicators {
 public:
  // `ranks`: of which this process is one, its GPU the only one; null: all GPUs are its own.
  Communicators(std::shared_ptr<const Library> library,
                std::vector<std::shared_ptr<const Device>> gpus, std::shared_ptr<const Ranks> ranks)
      : library_(std::move(library)), gpus_(std::move(gpus)), ranks_(std::move(ranks)) {}

  // Of those GPUs, by number, or by rank; made when first asked for, and again where the last was
  // aborted. Ranks wait for one another as long as `look` lets them.
  Result<std::shared_ptr<Clique>> Of(const std::vector<size_t>& gpus,
                                     const std::function<Status()>& look);

 private:
  Result<std::shared_ptr<Clique>> Join(const std::vector<size_t>& members,
                                       const std::function<Status()>& look);

  std::shared_ptr<const Library> library_;
  std::vector<std::shared_ptr<const Device>> gpus_;
  std::shared_ptr<const Ranks> ranks_;
  std::mutex mutex_;
  std::map<std::vector<size_t>, std::shared_ptr<Clique>> cliques_;
};

}  // namespace hloscope::replay::cuda

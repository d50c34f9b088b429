// Factors of matrices by cuSOLVER, triangular systems by cuBLAS. Both have columns one behind the
// other where our arrays have rows: what they are given is the transpose, on the same bytes.
#include <array>
#include <climits>
#include <cstring>
#include <mutex>
#include <vector>

#include "core/backends/cuda/helper_kernel.h"
#include "core/backends/cuda/library_work.h"
#include "core/compile/plan/plan.h"

namespace hloscope::replay::cuda {
namespace {

using hlo::AttributeKey;
using hlo::ElementType;
using hlo::TransposeA;

constexpr int64_t kBlasWorkspace = int64_t{4} << 20;

int64_t MatricesOf(const hlo::Shape& shape) {
  int64_t count = 1;
  for (size_t d = 0; d + 2 < shape.rank(); ++d) count *= shape.dimension(d);
  return count;
}

class Factor : public LibraryWork {
 public:
  static Result<std::shared_ptr<const LibraryWork>> Make(const AlgorithmRequest& order) {
    auto out = std::make_shared<Factor>();
    const hlo::Shape& shape = order.module.shape(order.id);
    out->device_ = order.device;
    out->library_ = order.library;
    out->type_ = shape.element_type();
    out->side_ = shape.dimension(shape.rank() - 1);
    out->matrices_ = MatricesOf(shape);
    out->is_lower_ = order.module.GetBool(order.module[order.id], AttributeKey::kLower);
    HLOSCOPE_TRY(CheckSolverSizes(out->side_, out->matrices_));
    HLOSCOPE_TRY(out->Prepare());
    return out;
  }

  // cuSOLVER may wait for the device.
  bool can_be_recorded() const override { return false; }
  int64_t scratch_bytes() const override {
    return static_cast<int64_t>(work_bytes_ + 3 * kWorkspaceAlignment);
  }

  Status Enqueue(StreamHandle stream, std::span<const Address> addresses) const override {
    const Library& solver = *library_;
    const Driver& driver = device_->driver();
    const auto bytes = static_cast<size_t>(side_ * side_ * hlo::StorageBytes(type_));
    const Address info = AlignedWorkspace(addresses[2]), work = info + kWorkspaceAlignment;
    HLOSCOPE_TRY(driver.Check(driver->CopyOnDevice(addresses[1], addresses[0],
                                                   bytes * static_cast<size_t>(matrices_), stream),
                              "copying a matrix on the device"));
    const std::lock_guard lock(handle_->mutex());
    HLOSCOPE_TRY(solver.Check(solver->SolverSetStream(handle_->get(), stream), "taking a stream"));
    for (int64_t i = 0; i < matrices_; ++i) {
      const Address matrix = addresses[1] + bytes * static_cast<size_t>(i);
      HLOSCOPE_TRY(solver.Check(
          solver->Factor(handle_->get(), options_.get(), Triangle(), side_, SolverTypeOf(type_),
                         Pointer(matrix), side_, SolverTypeOf(type_), Pointer(work), work_bytes_,
                         host_work_.data(), host_work_.size(), static_cast<int*>(Pointer(info))),
          "factoring"));
      HLOSCOPE_TRY(Tidy(stream, matrix, info));
    }
    return {};
  }

 private:
  // Rows are its columns: our lower triangle is its upper one.
  int Triangle() const { return is_lower_ ? libraries::kUpperTriangle : libraries::kLowerTriangle; }

  Status Prepare() {
    const Library& solver = *library_;
    HLOSCOPE_ASSIGN_OR_RETURN(
        handle_, SharedHandle::Of(device_, library_, solver->SolverCreate, solver->SolverDestroy));
    void* made = nullptr;
    HLOSCOPE_TRY(solver.Check(solver->SolverOptionsCreate(&made), "starting it"));
    options_ = LibraryHandle(device_, made, solver->SolverOptionsDestroy);
    size_t host_bytes = 0;
    HLOSCOPE_TRY(solver.Check(
        solver->FactorBytes(handle_->get(), options_.get(), Triangle(), side_, SolverTypeOf(type_),
                            nullptr, side_, SolverTypeOf(type_), &work_bytes_, &host_bytes),
        "planning a factor"));
    host_work_.resize(host_bytes);
    const bool is_double = type_ == ElementType::kF64 || type_ == ElementType::kC128;
    HLOSCOPE_ASSIGN_OR_RETURN(tidy_, HelperKernel::Load(device_, "tidy", TidyCode(is_double)));
    return {};
  }

  Status Tidy(StreamHandle stream, Address matrix, Address info) const {
    auto side = static_cast<uint64_t>(side_);
    uint64_t parts = hlo::IsComplex(type_) ? 2 : 1, lower = is_lower_ ? 1 : 0;
    const std::array<void*, 5> parameters = {&matrix, &info, &side, &parts, &lower};
    return tidy_.Launch(stream, side * side * parts, parameters);
  }

  std::shared_ptr<const Device> device_;
  std::shared_ptr<const Library> library_;
  ElementType type_{};
  int64_t side_ = 0, matrices_ = 0;
  bool is_lower_ = false;
  std::shared_ptr<const SharedHandle> handle_;
  LibraryHandle options_;
  size_t work_bytes_ = 0;
  mutable std::vector<std::byte> host_work_;
  HelperKernel tidy_;
};

// op(A)·X = B as rows is Xᵀ·op(A)ᵀ = Bᵀ as columns: the other side, the other triangle, the same
// op.
class Solve : public LibraryWork {
 public:
  static Result<std::shared_ptr<const LibraryWork>> Make(const AlgorithmRequest& order) {
    auto out = std::make_shared<Solve>();
    const hlo::Module& module = order.module;
    const hlo::Instruction& solve = module[order.id];
    const hlo::Shape &a = module.shape(module.operands(order.id)[0]), &b = module.shape(order.id);
    const auto is = [&](AttributeKey key) { return module.GetBool(solve, key); };
    out->device_ = order.device;
    out->library_ = order.library;
    out->type_ = b.element_type();
    out->side_ = a.dimension(a.rank() - 1);
    out->rows_ = b.dimension(b.rank() - 2);
    out->columns_ = b.dimension(b.rank() - 1);
    out->matrices_ = MatricesOf(b);
    out->side_of_a_ = is(AttributeKey::kLeftSide) ? libraries::kRight : libraries::kLeft;
    out->triangle_ =
        is(AttributeKey::kLower) ? libraries::kUpperTriangle : libraries::kLowerTriangle;
    out->diagonal_ =
        is(AttributeKey::kUnitDiagonal) ? libraries::kUnitDiagonal : libraries::kAnyDiagonal;
    switch (static_cast<TransposeA>(module.GetInt(solve, AttributeKey::kTransposeA))) {
      case TransposeA::kTranspose:
        out->op_ = libraries::kTransposed;
        break;
      case TransposeA::kAdjoint:
        out->op_ = libraries::kAdjoint;
        break;
      default:
        break;
    }
    HLOSCOPE_TRY(CheckSolverSizes(out->side_, out->matrices_));
    if (std::max(out->rows_, out->columns_) > INT_MAX) {
      return UnsupportedError("a side is more than 2147483647");
    }
    const Library& blas = *order.library;
    HLOSCOPE_ASSIGN_OR_RETURN(out->handle_, SharedHandle::Of(order.device, order.library,
                                                             blas->BlasCreate, blas->BlasDestroy));
    return out;
  }

  int64_t scratch_bytes() const override { return kBlasWorkspace + int64_t{kWorkspaceAlignment}; }

  Status Enqueue(StreamHandle stream, std::span<const Address> addresses) const override {
    const Library& blas = *library_;
    const Driver& driver = device_->driver();
    const auto element = static_cast<size_t>(hlo::StorageBytes(type_));
    const auto a_bytes = static_cast<size_t>(side_ * side_) * element,
               b_bytes = static_cast<size_t>(rows_ * columns_) * element;
    HLOSCOPE_TRY(
        driver.Check(driver->CopyOnDevice(addresses[2], addresses[1],
                                          b_bytes * static_cast<size_t>(matrices_), stream),
                     "copying right sides on the device"));
    const std::lock_guard lock(handle_->mutex());
    HLOSCOPE_TRY(blas.Check(blas->BlasSetStream(handle_->get(), stream), "taking a stream"));
    HLOSCOPE_TRY(
        blas.Check(blas->BlasSetWorkspace(handle_->get(), Pointer(AlignedWorkspace(addresses[3])),
                                          size_t{kBlasWorkspace}),
                   "taking memory"));
    for (int64_t i = 0; i < matrices_; ++i) {
      const auto index = static_cast<size_t>(i);
      HLOSCOPE_TRY(blas.Check(
          Launch(Pointer(addresses[0] + a_bytes * index), Pointer(addresses[2] + b_bytes * index)),
          "solving"));
    }
    return {};
  }

 private:
  int Launch(const void* a, void* b) const {
    const libraries::Functions& blas = *library_->operator->();
    const bool is_wide = type_ == ElementType::kF64 || type_ == ElementType::kC128;
    std::array<double, 2> one{1, 0};
    std::array<float, 2> narrow_one{1, 0};
    const void* const factor = is_wide ? static_cast<const void*>(&one) : &narrow_one;
    const auto solve = hlo::IsComplex(type_) ? (is_wide ? blas.SolveZ : blas.SolveC)
                                             : (is_wide ? blas.SolveD : blas.SolveS);
    const auto rows = static_cast<int>(rows_), columns = static_cast<int>(columns_);
    return solve(handle_->get(), side_of_a_, triangle_, op_, diagonal_, columns, rows, factor, a,
                 static_cast<int>(side_), b, columns);
  }

  std::shared_ptr<const Device> device_;
  std::shared_ptr<const Library> library_;
  ElementType type_{};
  int64_t side_ = 0, rows_ = 0, columns_ = 0, matrices_ = 0;
  int side_of_a_ = 0, triangle_ = 0, op_ = libraries::kAsIs, diagonal_ = 0;
  std::shared_ptr<const SharedHandle> handle_;
};

}  // namespace

int SolverTypeOf(ElementType type) {
  switch (type) {
    case ElementType::kF64:
      return libraries::kR64;
    case ElementType::kC64:
      return libraries::kC32;
    case ElementType::kC128:
      return libraries::kC64;
    default:
      return libraries::kR32;
  }
}

Status CheckSolverSizes(int64_t side, int64_t matrices) {
  if (side < library_sizes.least_side || matrices > library_sizes.most_matrices) {
    return UnsupportedError(
        fmt::format("{} of {} by {}: a block of ours each is better", matrices, side, side));
  }
  return {};
}

Result<AlgorithmCandidates> OfferFactor(const AlgorithmRequest& order) {
  return AlgorithmCandidates{.form = {}, .why_ours = {}, .make = [order](std::string_view) {
                               return Factor::Make(order);
                             }};
}
Result<AlgorithmCandidates> OfferSolve(const AlgorithmRequest& order) {
  return AlgorithmCandidates{
      .form = {}, .why_ours = {}, .make = [order](std::string_view) { return Solve::Make(order); }};
}

}  // namespace hloscope::replay::cuda

// Custom calls that factor matrices, by cuSOLVER: it has columns one behind the other where our
// arrays have rows, so what is no symmetric matrix is transposed there and back.
#include <array>
#include <climits>
#include <mutex>
#include <vector>

#include "core/backends/cuda/helper_kernel.h"
#include "core/backends/cuda/library_work.h"
#include "core/compile/factor_calls.h"

namespace hloscope::replay::cuda {
namespace {

using compile::FactorCall;
using compile::FactorWork;
using hlo::ElementType;

constexpr int64_t kPivotBytes = 8;

// The pieces of the scratch, in their order.
struct Pieces {
  Address matrix = 0, pivots = 0, info = 0, work = 0;
};

class FactorByCall : public LibraryWork {
 public:
  static Result<std::shared_ptr<const LibraryWork>> Make(const AlgorithmRequest& order,
                                                         const FactorCall& call) {
    auto out = std::make_shared<FactorByCall>();
    out->device_ = order.device;
    out->library_ = order.library;
    out->call_ = call;
    out->operands_ = order.module.operands(order.id).size();
    for (const hlo::Shape& result : order.module.shape(order.id).results()) {
      out->result_bytes_.push_back(result.ByteSize().value_or(0));
    }
    out->type_ = order.module.shape(order.id).results()[0].element_type();
    HLOSCOPE_TRY(CheckSolverSizes(call.less(), call.matrices));
    HLOSCOPE_TRY(out->Prepare());
    return out;
  }

  // cuSOLVER may wait for the device.
  bool can_be_recorded() const override { return false; }
  int64_t scratch_bytes() const override {
    return MatrixBytes() + call_.less() * kPivotBytes + static_cast<int64_t>(work_bytes_) +
           5 * static_cast<int64_t>(kWorkspaceAlignment);
  }

  Status Enqueue(StreamHandle stream, std::span<const Address> addresses) const override {
    const Library& solver = *library_;
    const Driver& driver = device_->driver();
    const std::span<const Address> results = addresses.subspan(operands_);
    const Pieces pieces = CutScratch(addresses.back());
    const std::lock_guard lock(handle_->mutex());
    HLOSCOPE_TRY(solver.Check(solver->SolverSetStream(handle_->get(), stream), "taking a stream"));
    for (int64_t i = 0; i < call_.matrices; ++i) {
      const Address from = addresses[call_.operand] + At(i, MatrixBytes());
      const Address to = results[0] + At(i, MatrixBytes());
      HLOSCOPE_TRY(IsTransposed()
                       ? Reorder(stream, from, pieces.matrix, call_.rows, call_.columns)
                       : driver.Check(driver->CopyOnDevice(
                                          to, from, static_cast<size_t>(MatrixBytes()), stream),
                                      "copying a matrix on the device"));
      const Address beside =
          call_.work == FactorWork::kFormQ
              ? addresses[call_.operand + 1] + At(i, call_.vectors * hlo::StorageBytes(type_))
          : call_.results > 1 ? results[1] + At(i, result_bytes_[1] / call_.matrices)
                              : Address{0};
      HLOSCOPE_TRY(solver.Check(Run(pieces, to, beside), "{}", compile::NameOf(call_.work)));
      if (IsTransposed()) {
        HLOSCOPE_TRY(Reorder(stream, pieces.matrix, to, call_.columns, call_.rows));
      }
      if (call_.work == FactorWork::kLu) HLOSCOPE_TRY(Narrow(stream, pieces.pivots, beside));
      if (const int leaf = InfoLeaf(); leaf >= 0) {
        HLOSCOPE_TRY(driver.Check(
            driver->CopyOnDevice(results[static_cast<size_t>(leaf)] + At(i, sizeof(int)),
                                 pieces.info, sizeof(int), stream),
            "copying an info on the device"));
      }
    }
    return Clear(stream, results);
  }

 private:
  static Address At(int64_t i, int64_t bytes) { return static_cast<Address>(i * bytes); }
  int64_t MatrixBytes() const { return call_.rows * call_.columns * hlo::StorageBytes(type_); }
  // A symmetric matrix's triangle is the other one of its transpose, on the same bytes.
  bool IsTransposed() const { return call_.work != FactorWork::kCholesky; }
  bool IsWide() const { return type_ == ElementType::kF64 || type_ == ElementType::kC128; }
  int InfoLeaf() const {
    switch (call_.work) {
      case FactorWork::kLu:
        return 2;
      case FactorWork::kCholesky:
        return 1;
      case FactorWork::kSymmetricEigen:
        return call_.results > 2 ? 2 : -1;
      default:
        return -1;
    }
  }
  int Triangle() const {
    return call_.is_lower == IsTransposed() ? libraries::kLowerTriangle : libraries::kUpperTriangle;
  }
  // Of the scratch, which begins anywhere.
  Pieces CutScratch(Address scratch) const {
    Pieces out;
    const auto next = [&](int64_t bytes) {
      const Address at = AlignedWorkspace(scratch);
      scratch = at + static_cast<Address>(bytes);
      return at;
    };
    out.matrix = next(MatrixBytes());
    out.pivots = next(call_.less() * kPivotBytes);
    out.info = next(sizeof(int));
    out.work = next(static_cast<int64_t>(work_bytes_));
    return out;
  }

  Status Prepare() {
    const Library& solver = *library_;
    HLOSCOPE_ASSIGN_OR_RETURN(
        handle_, SharedHandle::Of(device_, library_, solver->SolverCreate, solver->SolverDestroy));
    void* made = nullptr;
    HLOSCOPE_TRY(solver.Check(solver->SolverOptionsCreate(&made), "starting it"));
    options_ = LibraryHandle(device_, made, solver->SolverOptionsDestroy);
    HLOSCOPE_TRY(solver.Check(Plan(), "planning {}", compile::NameOf(call_.work)));
    HLOSCOPE_ASSIGN_OR_RETURN(
        reorder_, HelperKernel::Load(device_, "reorder", ReorderCode(IsWide() ? 8 : 4)));
    HLOSCOPE_ASSIGN_OR_RETURN(narrow_, HelperKernel::Load(device_, "reorder", ReorderCode(4)));
    return {};
  }

  // How much memory it works in.
  int Plan() {
    const libraries::Functions& solver = *library_->operator->();
    const int type = SolverTypeOf(type_);
    const int64_t m = call_.rows, n = call_.columns;
    size_t host_bytes = 0;
    int answer = 0;
    switch (call_.work) {
      case FactorWork::kLu:
        answer = solver.LuBytes(handle_->get(), options_.get(), m, n, type, nullptr, m, type,
                                &work_bytes_, &host_bytes);
        break;
      case FactorWork::kCholesky:
        answer = solver.FactorBytes(handle_->get(), options_.get(), Triangle(), n, type, nullptr, n,
                                    type, &work_bytes_, &host_bytes);
        break;
      case FactorWork::kQr:
        answer = solver.QrBytes(handle_->get(), options_.get(), m, n, type, nullptr, m, type,
                                nullptr, type, &work_bytes_, &host_bytes);
        break;
      case FactorWork::kSymmetricEigen:
        answer = solver.EigenBytes(
            handle_->get(), options_.get(), libraries::kEigenVectors, Triangle(), n, type, nullptr,
            n, SolverTypeOf(hlo::RealPart(type_)), nullptr, type, &work_bytes_, &host_bytes);
        break;
      case FactorWork::kFormQ: {
        answer = OfType(solver.FormQBytesS, solver.FormQBytesD, solver.FormQBytesC,
                        solver.FormQBytesZ)(handle_->get(), Int(m), Int(n), Int(call_.vectors),
                                            nullptr, Int(m), nullptr, &work_elements_);
        work_bytes_ = static_cast<size_t>(work_elements_ * hlo::StorageBytes(type_));
        break;
      }
    }
    host_work_.resize(host_bytes);
    return answer;
  }

  int Run(const Pieces& pieces, Address in_place, Address beside) const {
    const libraries::Functions& solver = *library_->operator->();
    const int type = SolverTypeOf(type_);
    const int64_t m = call_.rows, n = call_.columns;
    void* const matrix = Pointer(pieces.matrix);
    void* const work = Pointer(pieces.work);
    auto* const info = static_cast<int*>(Pointer(pieces.info));
    switch (call_.work) {
      case FactorWork::kLu:
        return solver.Lu(handle_->get(), options_.get(), m, n, type, matrix, m,
                         static_cast<int64_t*>(Pointer(pieces.pivots)), type, work, work_bytes_,
                         host_work_.data(), host_work_.size(), info);
      case FactorWork::kCholesky:
        return solver.Factor(handle_->get(), options_.get(), Triangle(), n, type, Pointer(in_place),
                             n, type, work, work_bytes_, host_work_.data(), host_work_.size(),
                             info);
      case FactorWork::kQr:
        return solver.Qr(handle_->get(), options_.get(), m, n, type, matrix, m, type,
                         Pointer(beside), type, work, work_bytes_, host_work_.data(),
                         host_work_.size(), info);
      case FactorWork::kSymmetricEigen:
        return solver.Eigen(handle_->get(), options_.get(), libraries::kEigenVectors, Triangle(), n,
                            type, matrix, n, SolverTypeOf(hlo::RealPart(type_)), Pointer(beside),
                            type, work, work_bytes_, host_work_.data(), host_work_.size(), info);
      case FactorWork::kFormQ:
        return OfType(solver.FormQS, solver.FormQD, solver.FormQC, solver.FormQZ)(
            handle_->get(), Int(m), Int(n), Int(call_.vectors), matrix, Int(m), Pointer(beside),
            work, work_elements_, info);
    }
    return 0;
  }
  // Sides are at most 2^14.
  static int Int(int64_t side) { return static_cast<int>(side); }
  template <typename Function>
  Function OfType(Function s, Function d, Function c, Function z) const {
    return hlo::IsComplex(type_) ? (IsWide() ? z : c) : (IsWide() ? d : s);
  }

  // A dense matrix of so many rows into its transpose.
  Status Reorder(StreamHandle stream, Address from, Address to, int64_t rows,
                 int64_t columns) const {
    const auto parts = uint64_t{hlo::IsComplex(type_) ? 2U : 1U};
    const auto r = static_cast<uint64_t>(rows), c = static_cast<uint64_t>(columns);
    return Launch(reorder_, stream, from, to, c * r * parts, {1, c, r, parts},
                  {0, 0, parts, c * parts, 1});
  }
  // The lower halves of the numbers.
  Status Narrow(StreamHandle stream, Address from, Address to) const {
    const auto count = static_cast<uint64_t>(call_.less());
    return Launch(narrow_, stream, from, to, count, {1, 1, 1, count}, {0, 0, 0, 0, 2});
  }
  static Status Launch(const HelperKernel& kernel, StreamHandle stream, Address from, Address to,
                       uint64_t count, std::array<uint64_t, 4> sizes,
                       std::array<uint64_t, 5> strides) {
    std::vector<void*> parameters = {&from, &to, &count};
    for (uint64_t& size : sizes) parameters.push_back(&size);
    for (uint64_t& stride : strides) parameters.push_back(&stride);
    return kernel.Launch(stream, count, parameters);
  }

  // Workspaces are zeros; behind each is room to the next multiple of 64 bytes.
  Status Clear(StreamHandle stream, std::span<const Address> results) const {
    const Driver& driver = device_->driver();
    for (size_t leaf = call_.results; leaf < result_bytes_.size(); ++leaf) {
      const auto words =
          (static_cast<size_t>(result_bytes_[leaf]) + sizeof(uint32_t) - 1) / sizeof(uint32_t);
      if (words == 0) continue;
      HLOSCOPE_TRY(
          driver.Check(driver->SetWords(results[leaf], 0, words, stream), "clearing a workspace"));
    }
    return {};
  }

  std::shared_ptr<const Device> device_;
  std::shared_ptr<const Library> library_;
  FactorCall call_;
  ElementType type_{};
  size_t operands_ = 0;
  std::vector<int64_t> result_bytes_;
  std::shared_ptr<const SharedHandle> handle_;
  LibraryHandle options_;
  size_t work_bytes_ = 0;
  int work_elements_ = 0;
  mutable std::vector<std::byte> host_work_;
  HelperKernel reorder_, narrow_;
};

}  // namespace

Result<AlgorithmCandidates> OfferFactorCall(const AlgorithmRequest& order) {
  const auto call = compile::FactorCallOf(order.module, order.id);
  if (!call) return UnsupportedError("it is not a factorisation of matrices");
  return AlgorithmCandidates{.form = {}, .why_ours = {}, .make = [order, call](std::string_view) {
                               return FactorByCall::Make(order, *call);
                             }};
}

}  // namespace hloscope::replay::cuda

// Factors of matrices by cuSOLVER, triangular systems by cuBLAS. Both have columns one behind the
// other where our arrays have rows: what they are given is the transpose, on the same bytes.
#include <array>
#include <climits>
#include <cstring>
#include <mutex>
#include <vector>

#include "core/compile/plan/plan.h"
#include "core/replay/cuda/handles.h"
#include "core/replay/cuda/library_work.h"

namespace hloscope::replay::cuda {
namespace {

using hlo::AttributeKey;
using hlo::ElementType;
using hlo::TransposeA;

// Smaller matrices, and many of them, are better off with a block of ours each; not measured on a
// device yet.
constexpr int64_t kLeastSide = 64, kMostMatrices = 16;
constexpr int64_t kBlasWorkspace = int64_t{4} << 20;
constexpr Address kAlignment = 256;

// What cuSOLVER leaves is made what HLO says: zeros in the other triangle, NaN (of complex numbers
// the real part) throughout where there is no factor. A thread for each number of `parts` per
// element; `lower`: which triangle stays.
constexpr const char* kTidy = R"(.version 7.0
.target sm_80
.address_size 64
@ENTRY32@@ENTRY64@)";
constexpr const char* kTidyEntry = R"(
.visible .entry tidy_@BITS@(.param .u64 array, .param .u64 info, .param .u64 side, .param .u64 parts, .param .u64 lower)
{
  .reg .pred %p<6>;
  .reg .b32 %r<6>;
  .reg .b64 %l<16>;
  .reg .b@BITS@ %x<3>;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mul.wide.u32 %l1, %r1, %r2;
  cvt.u64.u32 %l2, %r3;
  add.s64 %l1, %l1, %l2;
  ld.param.u64 %l3, [side];
  ld.param.u64 %l4, [parts];
  mul.lo.s64 %l5, %l3, %l3;
  mul.lo.s64 %l5, %l5, %l4;
  setp.ge.u64 %p1, %l1, %l5;
  @%p1 bra DONE;
  div.u64 %l6, %l1, %l4;
  rem.u64 %l7, %l1, %l4;
  div.u64 %l8, %l6, %l3;
  rem.u64 %l9, %l6, %l3;
  ld.param.u64 %l10, [array];
  cvta.to.global.u64 %l10, %l10;
  shl.b64 %l11, %l1, @SHIFT@;
  add.s64 %l10, %l10, %l11;
  mov.b@BITS@ %x1, 0;
  ld.param.u64 %l12, [info];
  cvta.to.global.u64 %l12, %l12;
  ld.global.u32 %r4, [%l12];
  setp.eq.u32 %p2, %r4, 0;
  @%p2 bra FACTOR;
  setp.ne.u64 %p3, %l7, 0;
  @%p3 bra STORE;
  mov.b@BITS@ %x1, @NAN@;
  bra STORE;
FACTOR:
  ld.param.u64 %l13, [lower];
  setp.eq.u64 %p4, %l13, 0;
  @%p4 bra UPPER;
  setp.le.u64 %p5, %l9, %l8;
  @%p5 bra DONE;
  bra STORE;
UPPER:
  setp.ge.u64 %p5, %l9, %l8;
  @%p5 bra DONE;
STORE:
  st.global.b@BITS@ [%l10], %x1;
DONE:
  ret;
}
)";
constexpr unsigned kThreads = 256;

std::string Replaced(std::string text, std::string_view what, std::string_view with) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size()) {
    text.replace(at, what.size(), with);
  }
  return text;
}
std::string TidyEntry(const char* bits, const char* shift, const char* nan) {
  return Replaced(Replaced(Replaced(kTidyEntry, "@BITS@", bits), "@SHIFT@", shift), "@NAN@", nan);
}
std::string TidyCode() {
  return Replaced(Replaced(kTidy, "@ENTRY32@", TidyEntry("32", "2", "0x7fc00000")), "@ENTRY64@",
                  TidyEntry("64", "3", "0x7ff8000000000000"));
}

int TypeOf(ElementType type) {
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

Address Aligned(Address address) { return (address + kAlignment - 1) / kAlignment * kAlignment; }

// How many matrices an array is, and the side of each.
Status CheckSizes(int64_t side, int64_t matrices) {
  if (side < kLeastSide || matrices > kMostMatrices) {
    return UnsupportedError(
        fmt::format("{} of {} by {}: a block of ours each is better", matrices, side, side));
  }
  return {};
}

int64_t MatricesOf(const hlo::Shape& shape) {
  int64_t count = 1;
  for (size_t d = 0; d + 2 < shape.rank(); ++d) count *= shape.dimension(d);
  return count;
}

class Factor : public LibraryWork {
 public:
  static Result<std::shared_ptr<const LibraryWork>> Make(const LibraryOrder& order) {
    auto out = std::make_shared<Factor>();
    const hlo::Shape& shape = order.module.shape(order.id);
    out->device_ = order.device;
    out->library_ = order.library;
    out->type_ = shape.element_type();
    out->side_ = shape.dimension(shape.rank() - 1);
    out->matrices_ = MatricesOf(shape);
    out->is_lower_ = order.module.GetBool(order.module[order.id], AttributeKey::kLower);
    HLOSCOPE_TRY(CheckSizes(out->side_, out->matrices_));
    HLOSCOPE_TRY(out->Prepare());
    return out;
  }

  int64_t scratch_bytes() const override {
    return static_cast<int64_t>(work_bytes_ + 3 * kAlignment);
  }

  Status Enqueue(StreamHandle stream, std::span<const Address> addresses) const override {
    const Library& solver = *library_;
    const Driver& driver = device_->driver();
    const auto bytes = static_cast<size_t>(side_ * side_ * hlo::StorageBytes(type_));
    const Address info = Aligned(addresses[2]), work = info + kAlignment;
    HLOSCOPE_TRY(driver.Check(driver->CopyOnDevice(addresses[1], addresses[0],
                                                   bytes * static_cast<size_t>(matrices_), stream),
                              "copying a matrix on the device"));
    const std::lock_guard lock(mutex_);
    HLOSCOPE_TRY(solver.Check(solver->SolverSetStream(handle_.get(), stream), "taking a stream"));
    for (int64_t i = 0; i < matrices_; ++i) {
      const Address matrix = addresses[1] + bytes * static_cast<size_t>(i);
      HLOSCOPE_TRY(solver.Check(
          solver->Factor(handle_.get(), options_.get(), Triangle(), side_, TypeOf(type_),
                         Pointer(matrix), side_, TypeOf(type_), Pointer(work), work_bytes_,
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
    void* made = nullptr;
    HLOSCOPE_TRY(solver.Check(solver->SolverCreate(&made), "starting it"));
    handle_ = LibraryHandle(device_, made, solver->SolverDestroy);
    HLOSCOPE_TRY(solver.Check(solver->SolverOptionsCreate(&made), "starting it"));
    options_ = LibraryHandle(device_, made, solver->SolverOptionsDestroy);
    size_t host_bytes = 0;
    HLOSCOPE_TRY(solver.Check(
        solver->FactorBytes(handle_.get(), options_.get(), Triangle(), side_, TypeOf(type_),
                            nullptr, side_, TypeOf(type_), &work_bytes_, &host_bytes),
        "planning a factor"));
    host_work_.resize(host_bytes);
    HLOSCOPE_ASSIGN_OR_RETURN(code_, LoadPtx(device_, TidyCode()));
    const bool is_wide = type_ == ElementType::kF64 || type_ == ElementType::kC128;
    const Driver& driver = device_->driver();
    return driver.Check(
        driver->ModuleGetFunction(&tidy_, code_.get(), is_wide ? "tidy_64" : "tidy_32"),
        "finding the kernel that tidies a factor");
  }

  Status Tidy(StreamHandle stream, Address matrix, Address info) const {
    auto side = static_cast<uint64_t>(side_);
    uint64_t parts = hlo::IsComplex(type_) ? 2 : 1, lower = is_lower_ ? 1 : 0;
    std::array<void*, 5> parameters = {&matrix, &info, &side, &parts, &lower};
    const auto blocks = static_cast<unsigned>((side * side * parts - 1) / kThreads + 1);
    const Driver& driver = device_->driver();
    return driver.Check(driver->LaunchKernel(tidy_, blocks, 1, 1, kThreads, 1, 1, 0, stream,
                                             parameters.data(), nullptr),
                        "launching the kernel that tidies a factor");
  }

  std::shared_ptr<const Device> device_;
  std::shared_ptr<const Library> library_;
  ElementType type_{};
  int64_t side_ = 0, matrices_ = 0;
  bool is_lower_ = false;
  LibraryHandle handle_, options_;
  size_t work_bytes_ = 0;
  mutable std::vector<std::byte> host_work_;
  LoadedModule code_;
  FunctionHandle tidy_ = nullptr;
  mutable std::mutex mutex_;
};

// op(A)·X = B as rows is Xᵀ·op(A)ᵀ = Bᵀ as columns: the other side, the other triangle, the same
// op.
class Solve : public LibraryWork {
 public:
  static Result<std::shared_ptr<const LibraryWork>> Make(const LibraryOrder& order) {
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
    HLOSCOPE_TRY(CheckSizes(out->side_, out->matrices_));
    if (std::max(out->rows_, out->columns_) > INT_MAX) {
      return UnsupportedError("a side is more than 2147483647");
    }
    void* made = nullptr;
    const Library& blas = *order.library;
    HLOSCOPE_TRY(blas.Check(blas->BlasCreate(&made), "starting it"));
    out->handle_ = LibraryHandle(order.device, made, blas->BlasDestroy);
    return out;
  }

  int64_t scratch_bytes() const override { return kBlasWorkspace + int64_t{kAlignment}; }

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
    const std::lock_guard lock(mutex_);
    HLOSCOPE_TRY(blas.Check(blas->BlasSetStream(handle_.get(), stream), "taking a stream"));
    HLOSCOPE_TRY(blas.Check(blas->BlasSetWorkspace(handle_.get(), Pointer(Aligned(addresses[3])),
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
    return solve(handle_.get(), side_of_a_, triangle_, op_, diagonal_, columns, rows, factor, a,
                 static_cast<int>(side_), b, columns);
  }

  std::shared_ptr<const Device> device_;
  std::shared_ptr<const Library> library_;
  ElementType type_{};
  int64_t side_ = 0, rows_ = 0, columns_ = 0, matrices_ = 0;
  int side_of_a_ = 0, triangle_ = 0, op_ = libraries::kAsIs, diagonal_ = 0;
  LibraryHandle handle_;
  mutable std::mutex mutex_;
};

}  // namespace

Result<std::shared_ptr<const LibraryWork>> MakeFactor(const LibraryOrder& order) {
  return Factor::Make(order);
}
Result<std::shared_ptr<const LibraryWork>> MakeSolve(const LibraryOrder& order) {
  return Solve::Make(order);
}

}  // namespace hloscope::replay::cuda

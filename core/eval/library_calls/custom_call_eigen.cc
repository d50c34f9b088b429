// Custom calls of LAPACK and cuSOLVER whose result has signs, phases or an order of its own
// (eigenvectors, singular vectors, Schur form): computed by the routine of the elements' own type,
// so that these choices are those XLA:CPU's library makes.
#include <algorithm>
#include <array>
#include <complex>

#include "core/eval/library_calls/custom_calls.h"
#include "core/eval/library_calls/matrix_call.h"

namespace hloscope::eval {
namespace {

using hlo::ElementType;

// Runs `routine<T>` for the type of the first array's elements; narrower floats as f32.
template <template <typename> class Routine>
Result<Value> ByType(KernelCall& call) {
  HLOSCOPE_ASSIGN_OR_RETURN(const MatrixCall m, MatrixCall::Of(call, 1));
  if (m.array(0).rank() < 2) return Unsupported(call, "its first operand is not a matrix");
  const int64_t n = std::max(m.rows(), m.columns());
  HLOSCOPE_TRY(call.machine.Charge(10 * m.batch() * n * n * std::min(m.rows(), m.columns())));
  switch (m.array(0).element_type()) {
    case ElementType::kF64:
      return Routine<double>::Run(m);
    case ElementType::kC64:
      return Routine<std::complex<float>>::Run(m);
    case ElementType::kC128:
      return Routine<std::complex<double>>::Run(m);
    default:
      return Routine<float>::Run(m);
  }
}

// Stores the parts of a result in the order of the newer calls.
class Results {
 public:
  explicit Results(const MatrixCall& m, std::span<const int> order = {}) : m_(m), order_(order) {}

  template <typename T>
  Status Add(const Matrices<T>& matrices) {
    HLOSCOPE_ASSIGN_OR_RETURN(const hlo::Shape shape, Next());
    HLOSCOPE_ASSIGN_OR_RETURN(Value value, matrices.Store(m_.call().machine, shape));
    values_.push_back(std::move(value));
    return {};
  }
  Status AddInfos(const std::vector<int>& infos) {
    HLOSCOPE_ASSIGN_OR_RETURN(const hlo::Shape shape, Next());
    HLOSCOPE_ASSIGN_OR_RETURN(Value value, Infos(m_, infos, shape));
    values_.push_back(std::move(value));
    return {};
  }
  Result<Value> Deliver() { return DeliverMatrices(m_, std::move(values_), order_); }

 private:
  Result<hlo::Shape> Next() const {
    return ResultShape(m_, static_cast<int>(values_.size()), order_);
  }
  const MatrixCall& m_;
  std::span<const int> order_;
  std::vector<Value> values_;
};

Status MustBeSquare(const MatrixCall& m) {
  if (m.rows() != m.columns()) return Unsupported(m.call(), "its matrices are not square");
  return {};
}

// Options of older calls are 0 or 1, or a letter of LAPACK as a number.
bool IsWanted(int64_t option) { return option == 1 || option == 'V'; }

template <typename T>
struct SymmetricEigen {
  static Result<Value> Run(const MatrixCall& m) {
    HLOSCOPE_TRY(MustBeSquare(m));
    Machine& machine = m.call().machine;
    HLOSCOPE_ASSIGN_OR_RETURN(auto a, Matrices<T>::Load(machine, m.operand(0)));
    HLOSCOPE_ASSIGN_OR_RETURN(auto w,
                              Matrices<lapack::Real<T>>::Make(machine, m.batch(), m.rows(), 1));
    const bool vectors = m.is_old() || IsWanted(m.config().Integer("mode", 'V'));
    const bool lower = m.Lower(0);
    std::vector<int> infos;
    for (int64_t i = 0; i < m.batch(); ++i) {
      infos.push_back(lapack::Syevd<T>(vectors, lower, m.rows(), a.at(i), w.at(i)));
    }
    Results results(m);
    HLOSCOPE_TRY(results.Add(a));
    HLOSCOPE_TRY(results.Add(w));
    if (m.call().shape().elements().size() > 2) HLOSCOPE_TRY(results.AddInfos(infos));
    return results.Deliver();
  }
};

// How a call asks for U and V, and how it wants them.
struct SvdOptions {
  char job = 'A';
  bool v_as_columns = false;  // V itself, not its adjoint
  bool transposed = false;    // row-major: the library saw the transpose, U and Vᴴ change places
  bool classic = false;       // gesvd, not gesdd
};

SvdOptions ReadSvdOptions(const MatrixCall& m) {
  SvdOptions options;
  const std::string_view target =
      m.call().module().GetString(m.call().instruction(), hlo::AttributeKey::kCustomCallTarget);
  options.v_as_columns = target.find("gesvdj") != std::string_view::npos ||
                         target.find("gesvdp") != std::string_view::npos;
  options.classic = !options.v_as_columns && target.find("gesvd") != std::string_view::npos;
  const hlo::expand::CallConfig& config = m.config();
  options.transposed = config.Flag("transposed");
  if (m.is_old()) {
    options.job = m.Option("", 0, 1) == 0 ? 'N' : m.Option("", 1, 1) == 0 ? 'S' : 'A';
  } else if (config.Has("mode")) {
    options.job = static_cast<char>(config.Integer("mode", 'A'));
  } else if (config.Has("compute_uv")) {
    options.job = !config.Flag("compute_uv") ? 'N' : config.Flag("full_matrices") ? 'A' : 'S';
  }
  if (options.job != 'N' && options.job != 'S') options.job = 'A';
  return options;
}

template <typename T>
T Conjugate(T x) {
  return x;
}
template <typename T>
std::complex<T> Conjugate(std::complex<T> x) {
  return std::conj(x);
}

template <typename T>
Result<Matrices<T>> Adjoint(Machine& machine, const Matrices<T>& from, int64_t count) {
  HLOSCOPE_ASSIGN_OR_RETURN(auto to,
                            Matrices<T>::Make(machine, count, from.columns(), from.rows()));
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t r = 0; r < from.rows(); ++r) {
      for (int64_t c = 0; c < from.columns(); ++c) {
        to.at(i)[r * from.columns() + c] = Conjugate(from.at(i)[c * from.rows() + r]);
      }
    }
  }
  return to;
}

template <typename T>
struct SingularValues {
  static Result<Value> Run(const MatrixCall& m) {
    Machine& machine = m.call().machine;
    const SvdOptions options = ReadSvdOptions(m);
    const int rows = m.rows(), columns = m.columns(), less = std::min(rows, columns);
    const bool full = options.job == 'A';
    HLOSCOPE_ASSIGN_OR_RETURN(auto a, Matrices<T>::Load(machine, m.operand(0)));
    HLOSCOPE_ASSIGN_OR_RETURN(auto s, Matrices<lapack::Real<T>>::Make(machine, m.batch(), less, 1));
    HLOSCOPE_ASSIGN_OR_RETURN(auto u,
                              Matrices<T>::Make(machine, m.batch(), rows, full ? rows : less));
    HLOSCOPE_ASSIGN_OR_RETURN(
        auto vt, Matrices<T>::Make(machine, m.batch(), full ? columns : less, columns));
    std::vector<int> infos;
    const auto routine = options.classic ? lapack::Gesvd<T> : lapack::Gesdd<T>;
    for (int64_t i = 0; i < m.batch(); ++i) {
      infos.push_back(routine(options.job, rows, columns, a.at(i), s.at(i), u.at(i), vt.at(i)));
    }
    Results results(m);
    HLOSCOPE_TRY(results.Add(a));
    HLOSCOPE_TRY(results.Add(s));
    HLOSCOPE_TRY(AddVectors(m, options, u, vt, results));
    HLOSCOPE_TRY(results.AddInfos(infos));
    return results.Deliver();
  }

  static Status AddVectors(const MatrixCall& m, const SvdOptions& options, const Matrices<T>& u,
                           const Matrices<T>& vt, Results& results) {
    // Without vectors the places for them may have any shape.
    if (options.job == 'N') {
      HLOSCOPE_TRY(AddNothing(m, 2, results));
      return AddNothing(m, 3, results);
    }
    if (options.transposed) {
      HLOSCOPE_TRY(results.Add(vt));
      return results.Add(u);
    }
    HLOSCOPE_TRY(results.Add(u));
    if (!options.v_as_columns) return results.Add(vt);
    HLOSCOPE_ASSIGN_OR_RETURN(const auto v, Adjoint(m.call().machine, vt, m.batch()));
    return results.Add(v);
  }

  static Status AddNothing(const MatrixCall& m, int index, Results& results) {
    HLOSCOPE_ASSIGN_OR_RETURN(const hlo::Shape shape, ResultShape(m, index));
    HLOSCOPE_ASSIGN_OR_RETURN(const auto zeros,
                              Matrices<T>::Make(m.call().machine, ElementCount(shape), 1, 1));
    return results.Add(zeros);
  }
};

// Real and imaginary parts apart, as calls on real matrices return eigenvalues.
template <typename R>
Status AddEigenvalues(const MatrixCall& m, const Matrices<std::complex<R>>& w, Results& results) {
  if (m.is_complex()) return results.Add(w);
  for (const bool imaginary : {false, true}) {
    HLOSCOPE_ASSIGN_OR_RETURN(auto part,
                              Matrices<R>::Make(m.call().machine, m.batch(), w.rows(), 1));
    for (int64_t k = 0; k < m.batch() * w.rows(); ++k) {
      part.at(0)[k] = imaginary ? w.at(0)[k].imag() : w.at(0)[k].real();
    }
    HLOSCOPE_TRY(results.Add(part));
  }
  return {};
}

// Where older calls have the results: three workspaces first for real matrices, two for complex.
constexpr std::array<int, 8> kOldEigenReal = {-1, -1, -1, 0, 1, 2, 3, 4};
constexpr std::array<int, 6> kOldEigenComplex = {-1, -1, 0, 1, 2, 3};
constexpr std::array<int, 6> kOldSchurReal = {0, 2, 3, 1, 4, 5};
constexpr std::array<int, 6> kOldSchurComplex = {0, -1, 2, 1, 3, 4};

template <typename T>
struct GeneralEigen {
  static Result<Value> Run(const MatrixCall& m) {
    HLOSCOPE_TRY(MustBeSquare(m));
    using R = lapack::Real<T>;
    Machine& machine = m.call().machine;
    const int n = m.rows();
    HLOSCOPE_ASSIGN_OR_RETURN(auto a, Matrices<T>::Load(machine, m.operand(0)));
    HLOSCOPE_ASSIGN_OR_RETURN(auto w, Matrices<std::complex<R>>::Make(machine, m.batch(), n, 1));
    HLOSCOPE_ASSIGN_OR_RETURN(auto vl, Matrices<std::complex<R>>::Make(machine, m.batch(), n, n));
    HLOSCOPE_ASSIGN_OR_RETURN(auto vr, Matrices<std::complex<R>>::Make(machine, m.batch(), n, n));
    const bool left = IsWanted(WantedOption(m, "compute_left", "left", 2));
    const bool right = IsWanted(WantedOption(m, "compute_right", "right", 3));
    std::vector<int> infos;
    for (int64_t i = 0; i < m.batch(); ++i) {
      infos.push_back(lapack::Geev<T>(left, right, n, a.at(i), w.at(i), vl.at(i), vr.at(i)));
    }
    std::span<const int> order;
    if (m.is_old()) order = m.is_complex() ? std::span<const int>(kOldEigenComplex) : kOldEigenReal;
    Results results(m, order);
    HLOSCOPE_TRY(AddEigenvalues<R>(m, w, results));
    HLOSCOPE_TRY(results.Add(vl));
    HLOSCOPE_TRY(results.Add(vr));
    HLOSCOPE_TRY(results.AddInfos(infos));
    return results.Deliver();
  }

  static int64_t WantedOption(const MatrixCall& m, std::string_view lapack_name,
                              std::string_view gpu_name, size_t position) {
    if (m.config().Has(gpu_name)) return m.IsSet(gpu_name, true) ? 1 : 0;
    return m.Option(lapack_name, position, 'V');
  }
};

// cuSOLVER's results: the destroyed operand, eigenvalues as complex numbers, left and right vectors
// packed as LAPACK packs those of real matrices, status.
template <typename T>
struct GeneralEigenPacked {
  static Result<Value> Run(const MatrixCall& m) {
    HLOSCOPE_TRY(MustBeSquare(m));
    using C = std::complex<lapack::Real<T>>;
    Machine& machine = m.call().machine;
    const int n = m.rows();
    HLOSCOPE_ASSIGN_OR_RETURN(auto a, Matrices<T>::Load(machine, m.operand(0)));
    HLOSCOPE_ASSIGN_OR_RETURN(auto w, Matrices<C>::Make(machine, m.batch(), n, 1));
    HLOSCOPE_ASSIGN_OR_RETURN(auto vl, Matrices<C>::Make(machine, m.batch(), n, n));
    HLOSCOPE_ASSIGN_OR_RETURN(auto vr, Matrices<C>::Make(machine, m.batch(), n, n));
    const bool left = m.IsSet("left", true), right = m.IsSet("right", true);
    std::vector<int> infos;
    for (int64_t i = 0; i < m.batch(); ++i) {
      infos.push_back(lapack::Geev<T>(left, right, n, a.at(i), w.at(i), vl.at(i), vr.at(i)));
    }
    Results results(m);
    HLOSCOPE_TRY(results.Add(a));
    HLOSCOPE_TRY(results.Add(w));
    HLOSCOPE_TRY(AddPacked(m, w, vl, results));
    HLOSCOPE_TRY(AddPacked(m, w, vr, results));
    HLOSCOPE_TRY(results.AddInfos(infos));
    return results.Deliver();
  }

  template <typename C>
  static Status AddPacked(const MatrixCall& m, const Matrices<C>& w, const Matrices<C>& vectors,
                          Results& results) {
    if (m.is_complex()) return results.Add(vectors);
    using R = typename C::value_type;
    const int64_t n = w.rows();
    HLOSCOPE_ASSIGN_OR_RETURN(auto packed, Matrices<R>::Make(m.call().machine, m.batch(), n, n));
    for (int64_t i = 0; i < m.batch(); ++i) {
      bool second = false;  // of a pair of conjugates
      for (int64_t c = 0; c < n; ++c) {
        for (int64_t r = 0; r < n; ++r) {
          const C& v = vectors.at(i)[c * n + r];
          packed.at(i)[c * n + r] = second ? -v.imag() : v.real();
        }
        second = !second && w.at(i)[c].imag() != R{};
      }
    }
    return results.Add(packed);
  }
};

template <typename T>
struct Schur {
  static Result<Value> Run(const MatrixCall& m) {
    HLOSCOPE_TRY(MustBeSquare(m));
    using R = lapack::Real<T>;
    Machine& machine = m.call().machine;
    const int n = m.rows();
    if (m.Option("sort", 3, 'N') == 'S') return Unsupported(m.call(), "it sorts eigenvalues");
    HLOSCOPE_ASSIGN_OR_RETURN(auto a, Matrices<T>::Load(machine, m.operand(0)));
    HLOSCOPE_ASSIGN_OR_RETURN(auto w, Matrices<std::complex<R>>::Make(machine, m.batch(), n, 1));
    HLOSCOPE_ASSIGN_OR_RETURN(auto vs, Matrices<T>::Make(machine, m.batch(), n, n));
    const bool vectors = IsWanted(m.Option("mode", 2, 'V'));
    std::vector<int> infos;
    for (int64_t i = 0; i < m.batch(); ++i) {
      infos.push_back(lapack::Gees<T>(vectors, n, a.at(i), w.at(i), vs.at(i)));
    }
    std::span<const int> order;
    if (m.is_old()) order = m.is_complex() ? std::span<const int>(kOldSchurComplex) : kOldSchurReal;
    Results results(m, order);
    HLOSCOPE_TRY(results.Add(a));
    HLOSCOPE_TRY(results.Add(vs));
    HLOSCOPE_TRY(AddEigenvalues<R>(m, w, results));
    HLOSCOPE_TRY(results.AddInfos(std::vector<int>(infos.size(), 0)));  // how many were selected
    HLOSCOPE_TRY(results.AddInfos(infos));
    return results.Deliver();
  }
};

}  // namespace

Result<Value> SymmetricEigenCall(KernelCall& call) { return ByType<SymmetricEigen>(call); }

Result<Value> SingularValuesCall(KernelCall& call) { return ByType<SingularValues>(call); }

Result<Value> GeneralEigenCall(KernelCall& call) { return ByType<GeneralEigen>(call); }

Result<Value> GeneralEigenPackedCall(KernelCall& call) { return ByType<GeneralEigenPacked>(call); }

Result<Value> SchurCall(KernelCall& call) { return ByType<Schur>(call); }

}  // namespace hloscope::eval

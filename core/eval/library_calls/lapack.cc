// The Fortran routines of LAPACK by element type, and their workspaces.
#include "core/eval/library_calls/lapack.h"

#include <algorithm>
#include <string_view>
#include <type_traits>

using hloscope::eval::lapack::Real;
using C = std::complex<float>;
using Z = std::complex<double>;

extern "C" {
// A wrong argument is our own mistake and shows as a negative info; the library's own handler would
// end the process.
void xerbla_(const char*, const int*, size_t) {}

// All that these routines call of gfortran's runtime: `a // b` of option letters, with blanks up to
// the length. Its library would bring a whole system of input and output.
void _gfortran_concat_string(size_t size, char* out, size_t a_size, const char* a, size_t b_size,
                             const char* b) {
  const std::string_view parts[] = {{a, a_size}, {b, b_size}};
  for (const std::string_view part : parts) {
    const size_t copied = part.copy(out, size);
    out += copied;
    size -= copied;
  }
  std::fill_n(out, size, ' ');
}

// Lengths of character arguments follow at the end, as gfortran passes them.
#define HLOSCOPE_DECLARE_WIDE(p, T, or_name, sy_name)                                          \
  void p##getrf_(const int* m, const int* n, T* a, const int* lda, int* pivots, int* info);    \
  void p##potrf_(const char* uplo, const int* n, T* a, const int* lda, int* info, size_t);     \
  void p##geqrf_(const int* m, const int* n, T* a, const int* lda, T* tau, T* work,            \
                 const int* lwork, int* info);                                                 \
  void p##or_name##gqr_(const int* m, const int* n, const int* k, T* a, const int* lda,        \
                        const T* tau, T* work, const int* lwork, int* info);                   \
  void p##or_name##mqr_(const char* side, const char* trans, const int* m, const int* n,       \
                        const int* k, const T* a, const int* lda, const T* tau, T* c,          \
                        const int* ldc, T* work, const int* lwork, int* info, size_t, size_t); \
  void p##gehrd_(const int* n, const int* low, const int* high, T* a, const int* lda, T* tau,  \
                 T* work, const int* lwork, int* info);                                        \
  void p##sy_name##trd_(const char* uplo, const int* n, T* a, const int* lda, double* d,       \
                        double* e, T* tau, T* work, const int* lwork, int* info, size_t);
HLOSCOPE_DECLARE_WIDE(d, double, or, sy)
HLOSCOPE_DECLARE_WIDE(z, Z, un, he)
#undef HLOSCOPE_DECLARE_WIDE
void dgeqp3_(const int* m, const int* n, double* a, const int* lda, int* pivots, double* tau,
             double* work, const int* lwork, int* info);
void zgeqp3_(const int* m, const int* n, Z* a, const int* lda, int* pivots, Z* tau, Z* work,
             const int* lwork, double* rwork, int* info);

#define HLOSCOPE_DECLARE_REAL(p, T)                                                               \
  void p##syevd_(const char* job, const char* uplo, const int* n, T* a, const int* lda, T* w,     \
                 T* work, const int* lwork, int* iwork, const int* liwork, int* info, size_t,     \
                 size_t);                                                                         \
  void p##gesdd_(const char* job, const int* m, const int* n, T* a, const int* lda, T* s, T* u,   \
                 const int* ldu, T* vt, const int* ldvt, T* work, const int* lwork, int* iwork,   \
                 int* info, size_t);                                                              \
  void p##gesvd_(const char* job_u, const char* job_vt, const int* m, const int* n, T* a,         \
                 const int* lda, T* s, T* u, const int* ldu, T* vt, const int* ldvt, T* work,     \
                 const int* lwork, int* info, size_t, size_t);                                    \
  void p##geev_(const char* left, const char* right, const int* n, T* a, const int* lda, T* wr,   \
                T* wi, T* vl, const int* ldvl, T* vr, const int* ldvr, T* work, const int* lwork, \
                int* info, size_t, size_t);                                                       \
  void p##gees_(const char* vectors, const char* sort, const void* select, const int* n, T* a,    \
                const int* lda, int* sdim, T* wr, T* wi, T* vs, const int* ldvs, T* work,         \
                const int* lwork, int* bwork, int* info, size_t, size_t);
HLOSCOPE_DECLARE_REAL(s, float)
HLOSCOPE_DECLARE_REAL(d, double)
#undef HLOSCOPE_DECLARE_REAL
#define HLOSCOPE_DECLARE_COMPLEX(p, T, R)                                                       \
  void p##heevd_(const char* job, const char* uplo, const int* n, T* a, const int* lda, R* w,   \
                 T* work, const int* lwork, R* rwork, const int* lrwork, int* iwork,            \
                 const int* liwork, int* info, size_t, size_t);                                 \
  void p##gesdd_(const char* job, const int* m, const int* n, T* a, const int* lda, R* s, T* u, \
                 const int* ldu, T* vt, const int* ldvt, T* work, const int* lwork, R* rwork,   \
                 int* iwork, int* info, size_t);                                                \
  void p##gesvd_(const char* job_u, const char* job_vt, const int* m, const int* n, T* a,       \
                 const int* lda, R* s, T* u, const int* ldu, T* vt, const int* ldvt, T* work,   \
                 const int* lwork, R* rwork, int* info, size_t, size_t);                        \
  void p##geev_(const char* left, const char* right, const int* n, T* a, const int* lda, T* w,  \
                T* vl, const int* ldvl, T* vr, const int* ldvr, T* work, const int* lwork,      \
                R* rwork, int* info, size_t, size_t);                                           \
  void p##gees_(const char* vectors, const char* sort, const void* select, const int* n, T* a,  \
                const int* lda, int* sdim, T* w, T* vs, const int* ldvs, T* work,               \
                const int* lwork, R* rwork, int* bwork, int* info, size_t, size_t);
HLOSCOPE_DECLARE_COMPLEX(c, C, float)
HLOSCOPE_DECLARE_COMPLEX(z, Z, double)
#undef HLOSCOPE_DECLARE_COMPLEX
}  // extern "C"

namespace hloscope::eval::lapack {
namespace {

int AtLeastOne(int n) { return std::max(n, 1); }

// Calls run(work, lwork, info) twice: to ask for the best workspace, and with it.
template <typename T, typename Run>
int WithWorkspace(Run run) {
  int info = 0, query = -1;
  T best{};
  run(&best, &query, &info);
  if (info != 0) return info;
  const int size = AtLeastOne(static_cast<int>(std::real(best)));
  std::vector<T> work(static_cast<size_t>(size));
  run(work.data(), &size, &info);
  return info;
}

template <typename T>
std::vector<T> Room(int64_t count) {
  return std::vector<T>(static_cast<size_t>(std::max<int64_t>(count, 1)));
}

}  // namespace

#define HLOSCOPE_DEFINE_WIDE(p, T, or_name, sy_name, adjoint_letter)                               \
  template <>                                                                                      \
  int Getrf<T>(int m, int n, T* a, int* pivots) {                                                  \
    int info = 0;                                                                                  \
    const int lda = AtLeastOne(m);                                                                 \
    p##getrf_(&m, &n, a, &lda, pivots, &info);                                                     \
    return info;                                                                                   \
  }                                                                                                \
  template <>                                                                                      \
  int Potrf<T>(bool lower, int n, T* a) {                                                          \
    int info = 0;                                                                                  \
    const int lda = AtLeastOne(n);                                                                 \
    p##potrf_(lower ? "L" : "U", &n, a, &lda, &info, 1);                                           \
    return info;                                                                                   \
  }                                                                                                \
  template <>                                                                                      \
  int Geqrf<T>(int m, int n, T* a, T* tau) {                                                       \
    const int lda = AtLeastOne(m);                                                                 \
    return WithWorkspace<T>([&](T* work, const int* lwork, int* info) {                            \
      p##geqrf_(&m, &n, a, &lda, tau, work, lwork, info);                                          \
    });                                                                                            \
  }                                                                                                \
  template <>                                                                                      \
  int Orgqr<T>(int m, int n, int k, T* a, const T* tau) {                                          \
    const int lda = AtLeastOne(m);                                                                 \
    return WithWorkspace<T>([&](T* work, const int* lwork, int* info) {                            \
      p##or_name##gqr_(&m, &n, &k, a, &lda, tau, work, lwork, info);                               \
    });                                                                                            \
  }                                                                                                \
  template <>                                                                                      \
  int Ormqr<T>(bool left, bool adjoint, int m, int n, int k, const T* a, const T* tau, T* c) {     \
    const int lda = AtLeastOne(left ? m : n), ldc = AtLeastOne(m);                                 \
    return WithWorkspace<T>([&](T* work, const int* lwork, int* info) {                            \
      p##or_name##mqr_(left ? "L" : "R", adjoint ? adjoint_letter : "N", &m, &n, &k, a, &lda, tau, \
                       c, &ldc, work, lwork, info, 1, 1);                                          \
    });                                                                                            \
  }                                                                                                \
  template <>                                                                                      \
  int Gehrd<T>(int n, int low, int high, T* a, T* tau) {                                           \
    const int lda = AtLeastOne(n);                                                                 \
    return WithWorkspace<T>([&](T* work, const int* lwork, int* info) {                            \
      p##gehrd_(&n, &low, &high, a, &lda, tau, work, lwork, info);                                 \
    });                                                                                            \
  }                                                                                                \
  template <>                                                                                      \
  int Sytrd<T>(bool lower, int n, T* a, double* d, double* e, T* tau) {                            \
    const int lda = AtLeastOne(n);                                                                 \
    return WithWorkspace<T>([&](T* work, const int* lwork, int* info) {                            \
      p##sy_name##trd_(lower ? "L" : "U", &n, a, &lda, d, e, tau, work, lwork, info, 1);           \
    });                                                                                            \
  }
HLOSCOPE_DEFINE_WIDE(d, double, or, sy, "T")
HLOSCOPE_DEFINE_WIDE(z, Z, un, he, "C")
#undef HLOSCOPE_DEFINE_WIDE

template <>
int Geqp3<double>(int m, int n, double* a, int* pivots, double* tau) {
  const int lda = AtLeastOne(m);
  return WithWorkspace<double>([&](double* work, const int* lwork, int* info) {
    dgeqp3_(&m, &n, a, &lda, pivots, tau, work, lwork, info);
  });
}
template <>
int Geqp3<Z>(int m, int n, Z* a, int* pivots, Z* tau) {
  const int lda = AtLeastOne(m);
  auto rwork = Room<double>(2 * int64_t{n});
  return WithWorkspace<Z>([&](Z* work, const int* lwork, int* info) {
    zgeqp3_(&m, &n, a, &lda, pivots, tau, work, lwork, rwork.data(), info);
  });
}

namespace {

// Eigenvectors of real matrices: a column of its own for a real eigenvalue, two columns with real
// and imaginary part for a pair of conjugate ones.
template <typename T>
void Unpack(int n, const T* wi, const T* packed, std::complex<T>* out) {
  for (int j = 0; j < n; ++j) {
    const bool pair = wi[j] != 0 && j + 1 < n;
    for (int i = 0; i < n; ++i) {
      const size_t at = static_cast<size_t>(j) * static_cast<size_t>(n) + static_cast<size_t>(i);
      const size_t next = at + static_cast<size_t>(n);
      out[at] = pair ? std::complex<T>(packed[at], packed[next]) : packed[at];
      if (pair) out[next] = std::conj(out[at]);
    }
    j += pair ? 1 : 0;
  }
}

struct SvdSizes {
  int lda, ldu, ldvt;
  SvdSizes(char job, int m, int n)
      : lda(AtLeastOne(m)), ldu(AtLeastOne(m)), ldvt(AtLeastOne(job == 'S' ? std::min(m, n) : n)) {}
};

}  // namespace

#define HLOSCOPE_DEFINE_REAL(p, T)                                                                 \
  template <>                                                                                      \
  int Syevd<T>(bool vectors, bool lower, int n, T* a, T* w) {                                      \
    const int lda = AtLeastOne(n), liwork = 3 + 5 * n;                                             \
    auto iwork = Room<int>(liwork);                                                                \
    return WithWorkspace<T>([&](T* work, const int* lwork, int* info) {                            \
      const int* sizes[] = {lwork, *lwork == -1 ? lwork : &liwork};                                \
      p##syevd_(vectors ? "V" : "N", lower ? "L" : "U", &n, a, &lda, w, work, sizes[0],            \
                iwork.data(), sizes[1], info, 1, 1);                                               \
    });                                                                                            \
  }                                                                                                \
  template <>                                                                                      \
  int Gesdd<T>(char job, int m, int n, T* a, T* s, T* u, T* vt) {                                  \
    const SvdSizes ld(job, m, n);                                                                  \
    auto iwork = Room<int>(8 * int64_t{std::min(m, n)});                                           \
    return WithWorkspace<T>([&](T* work, const int* lwork, int* info) {                            \
      p##gesdd_(&job, &m, &n, a, &ld.lda, s, u, &ld.ldu, vt, &ld.ldvt, work, lwork, iwork.data(),  \
                info, 1);                                                                          \
    });                                                                                            \
  }                                                                                                \
  template <>                                                                                      \
  int Gesvd<T>(char job, int m, int n, T* a, T* s, T* u, T* vt) {                                  \
    const SvdSizes ld(job, m, n);                                                                  \
    return WithWorkspace<T>([&](T* work, const int* lwork, int* info) {                            \
      p##gesvd_(&job, &job, &m, &n, a, &ld.lda, s, u, &ld.ldu, vt, &ld.ldvt, work, lwork, info, 1, \
                1);                                                                                \
    });                                                                                            \
  }                                                                                                \
  template <>                                                                                      \
  int Geev<T>(bool left, bool right, int n, T* a, std::complex<T>* w, std::complex<T>* vl,         \
              std::complex<T>* vr) {                                                               \
    const int lda = AtLeastOne(n);                                                                 \
    const int64_t count = int64_t{n} * n;                                                          \
    auto wr = Room<T>(n), wi = Room<T>(n), packed_l = Room<T>(count), packed_r = Room<T>(count);   \
    const int info = WithWorkspace<T>([&](T* work, const int* lwork, int* out) {                   \
      p##geev_(left ? "V" : "N", right ? "V" : "N", &n, a, &lda, wr.data(), wi.data(),             \
               packed_l.data(), &lda, packed_r.data(), &lda, work, lwork, out, 1, 1);              \
    });                                                                                            \
    for (size_t i = 0; i < static_cast<size_t>(n); ++i) w[i] = {wr[i], wi[i]};                     \
    if (left) Unpack(n, wi.data(), packed_l.data(), vl);                                           \
    if (right) Unpack(n, wi.data(), packed_r.data(), vr);                                          \
    return info;                                                                                   \
  }                                                                                                \
  template <>                                                                                      \
  int Gees<T>(bool vectors, int n, T* a, std::complex<T>* w, T* vs) {                              \
    const int lda = AtLeastOne(n);                                                                 \
    int sdim = 0;                                                                                  \
    auto wr = Room<T>(n), wi = Room<T>(n);                                                         \
    const int info = WithWorkspace<T>([&](T* work, const int* lwork, int* out) {                   \
      p##gees_(vectors ? "V" : "N", "N", nullptr, &n, a, &lda, &sdim, wr.data(), wi.data(), vs,    \
               &lda, work, lwork, nullptr, out, 1, 1);                                             \
    });                                                                                            \
    for (size_t i = 0; i < static_cast<size_t>(n); ++i) w[i] = {wr[i], wi[i]};                     \
    return info;                                                                                   \
  }
HLOSCOPE_DEFINE_REAL(s, float)
HLOSCOPE_DEFINE_REAL(d, double)
#undef HLOSCOPE_DEFINE_REAL

#define HLOSCOPE_DEFINE_COMPLEX(p, T, R)                                                           \
  template <>                                                                                      \
  int Syevd<T>(bool vectors, bool lower, int n, T* a, R* w) {                                      \
    const int lda = AtLeastOne(n), liwork = 3 + 5 * n;                                             \
    const int lrwork = 1 + 5 * n + 2 * n * n;                                                      \
    auto iwork = Room<int>(liwork);                                                                \
    auto rwork = Room<R>(lrwork);                                                                  \
    return WithWorkspace<T>([&](T* work, const int* lwork, int* info) {                            \
      const bool query = *lwork == -1;                                                             \
      p##heevd_(vectors ? "V" : "N", lower ? "L" : "U", &n, a, &lda, w, work, lwork, rwork.data(), \
                query ? lwork : &lrwork, iwork.data(), query ? lwork : &liwork, info, 1, 1);       \
    });                                                                                            \
  }                                                                                                \
  template <>                                                                                      \
  int Gesdd<T>(char job, int m, int n, T* a, R* s, T* u, T* vt) {                                  \
    const SvdSizes ld(job, m, n);                                                                  \
    const int64_t less = std::min(m, n), more = std::max(m, n);                                    \
    auto iwork = Room<int>(8 * less);                                                              \
    auto rwork =                                                                                   \
        Room<R>(std::max(5 * less * less + 5 * less, 2 * more * less + 2 * less * less + less));   \
    return WithWorkspace<T>([&](T* work, const int* lwork, int* info) {                            \
      p##gesdd_(&job, &m, &n, a, &ld.lda, s, u, &ld.ldu, vt, &ld.ldvt, work, lwork, rwork.data(),  \
                iwork.data(), info, 1);                                                            \
    });                                                                                            \
  }                                                                                                \
  template <>                                                                                      \
  int Gesvd<T>(char job, int m, int n, T* a, R* s, T* u, T* vt) {                                  \
    const SvdSizes ld(job, m, n);                                                                  \
    auto rwork = Room<R>(5 * int64_t{std::min(m, n)});                                             \
    return WithWorkspace<T>([&](T* work, const int* lwork, int* info) {                            \
      p##gesvd_(&job, &job, &m, &n, a, &ld.lda, s, u, &ld.ldu, vt, &ld.ldvt, work, lwork,          \
                rwork.data(), info, 1, 1);                                                         \
    });                                                                                            \
  }                                                                                                \
  template <>                                                                                      \
  int Geev<T>(bool left, bool right, int n, T* a, T* w, T* vl, T* vr) {                            \
    const int lda = AtLeastOne(n);                                                                 \
    auto rwork = Room<R>(2 * int64_t{n});                                                          \
    return WithWorkspace<T>([&](T* work, const int* lwork, int* info) {                            \
      p##geev_(left ? "V" : "N", right ? "V" : "N", &n, a, &lda, w, vl, &lda, vr, &lda, work,      \
               lwork, rwork.data(), info, 1, 1);                                                   \
    });                                                                                            \
  }                                                                                                \
  template <>                                                                                      \
  int Gees<T>(bool vectors, int n, T* a, T* w, T* vs) {                                            \
    const int lda = AtLeastOne(n);                                                                 \
    int sdim = 0;                                                                                  \
    auto rwork = Room<R>(n);                                                                       \
    return WithWorkspace<T>([&](T* work, const int* lwork, int* info) {                            \
      p##gees_(vectors ? "V" : "N", "N", nullptr, &n, a, &lda, &sdim, w, vs, &lda, work, lwork,    \
               rwork.data(), nullptr, info, 1, 1);                                                 \
    });                                                                                            \
  }
HLOSCOPE_DEFINE_COMPLEX(c, C, float)
HLOSCOPE_DEFINE_COMPLEX(z, Z, double)
#undef HLOSCOPE_DEFINE_COMPLEX

}  // namespace hloscope::eval::lapack

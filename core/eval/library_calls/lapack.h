// LAPACK behind C++ overloads: column-major matrices in, info out, workspaces made inside. The
// reference library, linked statically: one thread, the same bits everywhere.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

namespace hloscope::eval::lapack {

// Every function returns LAPACK's info: 0, or what went wrong. Leading dimensions are the number of
// rows. T is float, double or a complex of them; the first group exists for the wide types only.
template <typename T>
struct RealOf {
  using Type = T;
};
template <typename T>
struct RealOf<std::complex<T>> {
  using Type = T;
};
template <typename T>
using Real = typename RealOf<T>::Type;

// a (m×n) becomes L and U; row i was swapped with row pivots[i] (counting from 1).
template <typename T>
int Getrf(int m, int n, T* a, int* pivots);
// a (n×n) becomes its Cholesky factor in that triangle; the other one stays.
template <typename T>
int Potrf(bool lower, int n, T* a);
// a (m×n) becomes R and the Householder vectors below it; tau has min(m, n) elements.
template <typename T>
int Geqrf(int m, int n, T* a, T* tau);
// The same with columns exchanged: column i of the result was column pivots[i] (from 1). Pivots
// that are not 0 on entry are kept in front.
template <typename T>
int Geqp3(int m, int n, T* a, int* pivots, T* tau);
// a (m×n, k vectors) becomes the first n columns of Q.
template <typename T>
int Orgqr(int m, int n, int k, T* a, const T* tau);
// c (m×n) becomes Q·c, or c·Q, or with Qᴴ.
template <typename T>
int Ormqr(bool left, bool adjoint, int m, int n, int k, const T* a, const T* tau, T* c);
// a (n×n) becomes its upper Hessenberg form and the vectors below it.
template <typename T>
int Gehrd(int n, int low, int high, T* a, T* tau);
// a (n×n) becomes tridiagonal: diagonal d, off-diagonal e, the vectors in the triangle.
template <typename T>
int Sytrd(bool lower, int n, T* a, Real<T>* d, Real<T>* e, T* tau);

// Eigenvalues w in ascending order; a becomes the eigenvectors if they are wanted.
template <typename T>
int Syevd(bool vectors, bool lower, int n, T* a, Real<T>* w);
// job is 'A' (all of u and vt), 'S' (the first min(m, n)) or 'N' (singular values only).
template <typename T>
int Gesdd(char job, int m, int n, T* a, Real<T>* s, T* u, T* vt);
template <typename T>
int Gesvd(char job, int m, int n, T* a, Real<T>* s, T* u, T* vt);
// Eigenvalues as pairs of real and imaginary parts, eigenvectors as complex numbers.
template <typename T>
int Geev(bool left, bool right, int n, T* a, std::complex<Real<T>>* w, std::complex<Real<T>>* vl,
         std::complex<Real<T>>* vr);
// a becomes its Schur form, vs the vectors.
template <typename T>
int Gees(bool vectors, int n, T* a, std::complex<Real<T>>* w, T* vs);

}  // namespace hloscope::eval::lapack

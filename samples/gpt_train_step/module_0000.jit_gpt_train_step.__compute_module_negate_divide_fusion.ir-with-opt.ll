; ModuleID = '__compute_module___compute_module_negate_divide_fusion'
source_filename = "__compute_module___compute_module_negate_divide_fusion"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"

; Function Attrs: nofree norecurse nosync nounwind
define noalias noundef ptr @negate_divide_fusion(ptr nofree readonly captures(none) %0) local_unnamed_addr #0 {
  %2 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %3 = load ptr, ptr %2, align 8, !invariant.load !3
  %4 = load ptr, ptr %3, align 8, !invariant.load !3
  %5 = getelementptr inbounds nuw i8, ptr %3, i64 16
  %6 = load ptr, ptr %5, align 8, !invariant.load !3
  %7 = getelementptr inbounds nuw i8, ptr %3, i64 32
  %8 = load ptr, ptr %7, align 8, !invariant.load !3
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %10 = load ptr, ptr %9, align 8
  %11 = load i64, ptr %10, align 4, !invariant.load !3
  %.not.not = icmp slt i64 %11, 1
  br i1 %.not.not, label %.lr.ph, label %._crit_edge

.lr.ph:                                           ; preds = %1, %.lr.ph
  %12 = phi i64 [ %32, %.lr.ph ], [ 0, %1 ]
  %savedstack = tail call ptr @llvm.stacksave.p0()
  %13 = shl nuw nsw i64 %12, 4
  %14 = and i64 %13, 112
  %15 = shl nuw nsw i64 %12, 6
  %.idx3 = and i64 %15, 1536
  %16 = getelementptr i8, ptr %6, i64 %.idx3
  %17 = getelementptr [4 x i8], ptr %16, i64 %14
  %.sroa.0.0.copyload = load <8 x float>, ptr %17, align 1
  %.sroa.4.0..sroa_idx = getelementptr inbounds nuw i8, ptr %17, i64 32
  %.sroa.4.0.copyload = load <8 x float>, ptr %.sroa.4.0..sroa_idx, align 1
  %18 = alloca [16 x float], align 4
  %19 = getelementptr i8, ptr %4, i64 %.idx3
  %20 = getelementptr [4 x i8], ptr %19, i64 %14
  call void @llvm.memcpy.p0.p0.i64(ptr noundef nonnull align 4 dereferenceable(64) %18, ptr noundef nonnull align 1 dereferenceable(64) %20, i64 64, i1 false)
  %21 = alloca [16 x float], align 64
  %22 = load <8 x float>, ptr %18, align 4
  %23 = fneg <8 x float> %.sroa.0.0.copyload
  %24 = fdiv <8 x float> %23, %22
  store <8 x float> %24, ptr %21, align 64
  %25 = getelementptr inbounds nuw i8, ptr %18, i64 32
  %26 = load <8 x float>, ptr %25, align 4
  %27 = fneg <8 x float> %.sroa.4.0.copyload
  %28 = fdiv <8 x float> %27, %26
  %29 = getelementptr inbounds nuw i8, ptr %21, i64 32
  store <8 x float> %28, ptr %29, align 32
  %30 = getelementptr i8, ptr %8, i64 %.idx3
  %31 = getelementptr [4 x i8], ptr %30, i64 %14
  call void @llvm.memcpy.p0.p0.i64(ptr noundef nonnull align 1 dereferenceable(64) %31, ptr noundef nonnull align 64 dereferenceable(64) %21, i64 64, i1 false)
  call void @llvm.stackrestore.p0(ptr %savedstack)
  %32 = add nuw nsw i64 %12, 1
  %exitcond.not = icmp eq i64 %32, 32
  br i1 %exitcond.not, label %._crit_edge, label %.lr.ph

._crit_edge:                                      ; preds = %.lr.ph, %1
  ret ptr null
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.memcpy.p0.p0.i64(ptr noalias writeonly captures(none), ptr noalias readonly captures(none), i64, i1 immarg) #1

; Function Attrs: mustprogress nocallback nofree nosync nounwind willreturn
declare ptr @llvm.stacksave.p0() #2

; Function Attrs: mustprogress nocallback nofree nosync nounwind willreturn
declare void @llvm.stackrestore.p0(ptr) #2

attributes #0 = { nofree norecurse nosync nounwind }
attributes #1 = { mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite) }
attributes #2 = { mustprogress nocallback nofree nosync nounwind willreturn }

!llvm.module.flags = !{!0, !1}
!xla_cpu_memory_region_name = !{!2}

!0 = !{i32 2, !"Debug Info Version", i32 3}
!1 = !{i32 1, !"xla_dylib_index", i64 12}
!2 = !{!"xla_cpu_emitter__tiled_emitter__hlo_opcode__fusion"}
!3 = !{}

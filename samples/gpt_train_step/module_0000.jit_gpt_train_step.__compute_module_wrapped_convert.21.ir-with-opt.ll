; ModuleID = '__compute_module___compute_module_wrapped_convert.21'
source_filename = "__compute_module___compute_module_wrapped_convert.21"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"

; Function Attrs: nofree norecurse nosync nounwind
define noalias noundef ptr @wrapped_convert.21(ptr nofree readonly captures(none) %0) local_unnamed_addr #0 {
  %2 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %3 = load ptr, ptr %2, align 8, !invariant.load !3
  %4 = load ptr, ptr %3, align 8, !invariant.load !3
  %5 = getelementptr inbounds nuw i8, ptr %3, i64 16
  %6 = load ptr, ptr %5, align 8, !invariant.load !3
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %8 = load ptr, ptr %7, align 8
  %9 = load i64, ptr %8, align 4, !invariant.load !3
  %.not.not = icmp slt i64 %9, 1
  br i1 %.not.not, label %.lr.ph, label %._crit_edge

.lr.ph:                                           ; preds = %1, %.lr.ph
  %10 = phi i64 [ %30, %.lr.ph ], [ 0, %1 ]
  %savedstack = tail call ptr @llvm.stacksave.p0()
  %11 = lshr i64 %10, 2
  %12 = shl nuw nsw i64 %10, 5
  %13 = and i64 %12, 96
  %.idx3 = shl nuw nsw i64 %11, 8
  %14 = getelementptr i8, ptr %4, i64 %.idx3
  %15 = getelementptr [2 x i8], ptr %14, i64 %13
  %.sroa.0.0.copyload = load <8 x i16>, ptr %15, align 1
  %.sroa.4.0..sroa_idx = getelementptr inbounds nuw i8, ptr %15, i64 16
  %.sroa.4.0.copyload = load <8 x i16>, ptr %.sroa.4.0..sroa_idx, align 1
  %.sroa.5.0..sroa_idx = getelementptr inbounds nuw i8, ptr %15, i64 32
  %.sroa.5.0.copyload = load <8 x i16>, ptr %.sroa.5.0..sroa_idx, align 1
  %.sroa.6.0..sroa_idx = getelementptr inbounds nuw i8, ptr %15, i64 48
  %.sroa.6.0.copyload = load <8 x i16>, ptr %.sroa.6.0..sroa_idx, align 1
  %16 = alloca [32 x float], align 64
  %17 = zext <8 x i16> %.sroa.0.0.copyload to <8 x i32>
  %18 = shl nuw <8 x i32> %17, splat (i32 16)
  store <8 x i32> %18, ptr %16, align 64
  %19 = zext <8 x i16> %.sroa.4.0.copyload to <8 x i32>
  %20 = shl nuw <8 x i32> %19, splat (i32 16)
  %21 = getelementptr inbounds nuw i8, ptr %16, i64 32
  store <8 x i32> %20, ptr %21, align 32
  %22 = zext <8 x i16> %.sroa.5.0.copyload to <8 x i32>
  %23 = shl nuw <8 x i32> %22, splat (i32 16)
  %24 = getelementptr inbounds nuw i8, ptr %16, i64 64
  store <8 x i32> %23, ptr %24, align 64
  %25 = zext <8 x i16> %.sroa.6.0.copyload to <8 x i32>
  %26 = shl nuw <8 x i32> %25, splat (i32 16)
  %27 = getelementptr inbounds nuw i8, ptr %16, i64 96
  store <8 x i32> %26, ptr %27, align 32
  %.idx7 = shl nuw nsw i64 %11, 9
  %28 = getelementptr i8, ptr %6, i64 %.idx7
  %29 = getelementptr [4 x i8], ptr %28, i64 %13
  call void @llvm.memcpy.p0.p0.i64(ptr noundef nonnull align 1 dereferenceable(128) %29, ptr noundef nonnull align 64 dereferenceable(128) %16, i64 128, i1 false)
  call void @llvm.stackrestore.p0(ptr %savedstack)
  %30 = add nuw nsw i64 %10, 1
  %exitcond.not = icmp eq i64 %30, 1536
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
!1 = !{i32 1, !"xla_dylib_index", i64 0}
!2 = !{!"xla_cpu_emitter__tiled_emitter__hlo_opcode__fusion"}
!3 = !{}

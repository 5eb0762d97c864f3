//! The device: opened at run time, with its memory and the kernels that have been compiled for it.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::sys::{self, CUdevice_attribute, CUfunction_attribute};
use cudarc::driver::{
    CudaContext, CudaFunction, CudaModule, CudaSlice, CudaStream, DeviceRepr, ValidAsZeroBits,
};
use cudarc::nvrtc::Ptx;
use supersample_sum::Shape;

use crate::error::{Error, Result};

/// The first GPU of the machine. Clones are the same device.
#[derive(Clone)]
pub struct Device(Arc<Inner>);

struct Inner {
    stream: Arc<CudaStream>,
    name: String,
    multiprocessors: u32,
    /// Bytes that may be used although more are free.
    limit: Option<usize>,
    modules: Mutex<HashMap<&'static str, Arc<CudaModule>>>,
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Device").field(&self.0.name).finish()
    }
}

/// What is kept of the memory for the driver and for what is short-lived.
const RESERVE: usize = 256 << 20;

impl Device {
    /// The first device that the driver offers.
    pub fn open() -> Result<Device> {
        Device::opened(None)
    }

    /// The first device, of whose memory no more than so many bytes are used: more is done in parts.
    pub fn open_with_memory(bytes: usize) -> Result<Device> {
        Device::opened(Some(bytes))
    }

    fn opened(limit: Option<usize>) -> Result<Device> {
        if !driver_is_installed() {
            return Err(Error::NoDriver);
        }
        let context = CudaContext::new(0).map_err(|error| match Error::from(error) {
            Error::Driver { reason } | Error::DeviceLost { reason } => Error::NoDevice { reason },
            other => other,
        })?;
        let name = context.name()?;
        let (major, minor) = context.compute_capability()?;
        if major < 8 {
            return Err(Error::TooOld { name, major, minor });
        }
        let multiprocessors =
            context.attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)? as u32;
        let stream = context.default_stream();
        let modules = Mutex::default();
        Ok(Device(Arc::new(Inner { stream, name, multiprocessors, limit, modules })))
    }

    /// The name of the device, as the driver has it.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Bytes of memory that may still be used.
    pub fn free_memory(&self) -> Result<usize> {
        let (free, _) = self.0.stream.context().mem_get_info()?;
        let free = free.saturating_sub(RESERVE);
        Ok(self.0.limit.map_or(free, |limit| free.min(limit)))
    }

    /// Waits until everything that was begun is done.
    pub fn synchronize(&self) -> Result<()> {
        Ok(self.0.stream.synchronize()?)
    }

    pub(crate) fn stream(&self) -> &Arc<CudaStream> {
        &self.0.stream
    }

    pub(crate) fn multiprocessors(&self) -> u32 {
        self.0.multiprocessors
    }

    /// Zeros on the device.
    pub(crate) fn zeros<T: DeviceRepr + ValidAsZeroBits>(&self, len: usize) -> Result<CudaSlice<T>> {
        self.0.stream.alloc_zeros(len).map_err(|error| self.explained(error, len * size_of::<T>()))
    }

    /// A copy on the device.
    pub(crate) fn upload<T: DeviceRepr>(&self, values: &[T]) -> Result<CudaSlice<T>> {
        self.0.stream.clone_htod(values).map_err(|error| self.explained(error, size_of_val(values)))
    }

    fn explained(&self, error: cudarc::driver::DriverError, wanted: usize) -> Error {
        match Error::from(error) {
            Error::OutOfMemory { .. } => {
                Error::OutOfMemory { wanted, free: self.free_memory().unwrap_or_default() }
            }
            other => other,
        }
    }

    /// A function that does not depend on the kernel.
    pub(crate) fn common(&self, name: &str) -> Result<CudaFunction> {
        self.function("common", include_str!("../kernels/common.ptx"), name)
    }

    /// A function for one shape of kernel.
    pub(crate) fn for_shape(&self, shape: &Shape<'_>, name: &str) -> Result<CudaFunction> {
        let (module, ptx) = match shape {
            Shape::Gaussian { .. } => ("gaussian", include_str!("../kernels/gaussian.ptx")),
            Shape::Gaussians { .. } => ("gaussians", include_str!("../kernels/gaussians.ptx")),
            Shape::Laplace { .. } => ("laplace", include_str!("../kernels/laplace.ptx")),
            Shape::Matern12 { .. } => ("matern12", include_str!("../kernels/matern12.ptx")),
            Shape::Matern32 { .. } => ("matern32", include_str!("../kernels/matern32.ptx")),
            Shape::Matern52 { .. } => ("matern52", include_str!("../kernels/matern52.ptx")),
            Shape::Imq { .. } => ("imq", include_str!("../kernels/imq.ptx")),
            Shape::Linear => ("linear", include_str!("../kernels/linear.ptx")),
            Shape::Energy => ("energy", include_str!("../kernels/energy.ptx")),
            Shape::Manhattan { .. } => ("manhattan", include_str!("../kernels/manhattan.ptx")),
            Shape::Stein(_) => return Err(Error::NoKernel { what: "Stein kernels" }),
        };
        self.function(module, ptx, name)
    }

    fn function(&self, module: &'static str, ptx: &str, name: &str) -> Result<CudaFunction> {
        let mut modules = self.0.modules.lock().unwrap_or_else(PoisonError::into_inner);
        let module = match modules.get(module) {
            Some(loaded) => loaded.clone(),
            None => {
                let loaded = self.0.stream.context().load_module(Ptx::from_src(ptx))?;
                modules.insert(module, loaded.clone());
                loaded
            }
        };
        Ok(module.load_function(name)?)
    }

    /// Lets a function have so many bytes of shared memory.
    pub(crate) fn grant_shared(&self, function: &CudaFunction, bytes: u32) -> Result<()> {
        let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        Ok(function.set_attribute(attribute, bytes as i32)?)
    }
}

#[expect(unsafe_code, reason = "opening a library runs its initialisers")]
fn driver_is_installed() -> bool {
    // SAFETY: the library that is looked for is the driver's, whose initialisers may be run at any time; whoever can put
    // another library of that name on the search path can run code in this process anyway.
    unsafe { sys::is_culib_present() }
}

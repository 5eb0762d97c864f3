//! Device: opened at run time, with its memory and compiled kernels.

use std::collections::HashMap;
use std::fmt;
use std::io::Read;
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::sys::{self, CUdevice_attribute, CUfunction_attribute};
use cudarc::driver::{
    CudaContext, CudaFunction, CudaModule, CudaSlice, CudaStream, DeviceRepr, PinnedHostSlice,
    ValidAsZeroBits,
};
use cudarc::nvrtc::Ptx;
use flate2::read::GzDecoder;
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
    modules: Mutex<Modules>,
}

/// Compiled modules by name, and functions by the names of their module and their own.
#[derive(Default)]
struct Modules {
    loaded: HashMap<&'static str, Arc<CudaModule>>,
    functions: HashMap<(&'static str, &'static str), CudaFunction>,
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Device").field(&self.0.name).finish()
    }
}

/// Memory reserved for the driver and for short-lived data.
const RESERVE: usize = 256 << 20;

impl Device {
    /// Opens the first device of the driver. A second call returns the same device, with its kernels compiled.
    pub fn open() -> Result<Device> {
        static FIRST: Mutex<Option<Device>> = Mutex::new(None);
        let mut first = FIRST.lock().unwrap_or_else(PoisonError::into_inner);
        match &*first {
            Some(device) => Ok(device.clone()),
            None => Ok(first.insert(Device::opened(None)?).clone()),
        }
    }

    /// Opens the first device and uses at most `bytes` bytes of its memory; more data are processed in parts.
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

    /// Pinned host memory: copies to the device are several times as fast, and run while others are prepared.
    #[expect(unsafe_code, reason = "the memory holds any numbers at first")]
    pub(crate) fn outbox(&self, len: usize) -> Result<PinnedHostSlice<f32>> {
        // SAFETY: any bits are valid floats.
        Ok(unsafe { self.0.stream.context().alloc_pinned(len) }?)
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
    pub(crate) fn common(&self, name: &'static str) -> Result<CudaFunction> {
        self.function("common", include_bytes!("../kernels/common.ptx.gz"), name)
    }

    /// A function for one shape of kernel.
    pub(crate) fn for_shape(&self, shape: &Shape, name: &'static str) -> Result<CudaFunction> {
        let (module, ptx): (_, &[u8]) = match shape {
            Shape::Gaussian { .. } => ("gaussian", &include_bytes!("../kernels/gaussian.ptx.gz")[..]),
            Shape::Gaussians { .. } => ("gaussians", &include_bytes!("../kernels/gaussians.ptx.gz")[..]),
            Shape::Laplace { .. } => ("laplace", &include_bytes!("../kernels/laplace.ptx.gz")[..]),
            Shape::Matern12 { .. } => ("matern12", &include_bytes!("../kernels/matern12.ptx.gz")[..]),
            Shape::Matern32 { .. } => ("matern32", &include_bytes!("../kernels/matern32.ptx.gz")[..]),
            Shape::Matern52 { .. } => ("matern52", &include_bytes!("../kernels/matern52.ptx.gz")[..]),
            Shape::Imq { .. } => ("imq", &include_bytes!("../kernels/imq.ptx.gz")[..]),
            Shape::Linear => ("linear", &include_bytes!("../kernels/linear.ptx.gz")[..]),
            Shape::Energy => ("energy", &include_bytes!("../kernels/energy.ptx.gz")[..]),
            Shape::Manhattan { .. } => ("manhattan", &include_bytes!("../kernels/manhattan.ptx.gz")[..]),
            Shape::Stein(_) => return Err(Error::NoKernel { what: "Stein kernels" }),
        };
        self.function(module, ptx, name)
    }

    /// A function of a module, whose PTX is compressed with gzip.
    fn function(&self, module: &'static str, packed: &[u8], name: &'static str) -> Result<CudaFunction> {
        let mut modules = self.0.modules.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(function) = modules.functions.get(&(module, name)) {
            return Ok(function.clone());
        }
        let loaded = match modules.loaded.get(module) {
            Some(loaded) => loaded.clone(),
            None => {
                let mut ptx = String::new();
                GzDecoder::new(packed).read_to_string(&mut ptx).expect("PTX that build.sh has packed");
                let loaded = self.0.stream.context().load_module(Ptx::from_src(ptx))?;
                modules.loaded.insert(module, loaded.clone());
                loaded
            }
        };
        let function = loaded.load_function(name)?;
        modules.functions.insert((module, name), function.clone());
        Ok(function)
    }

    /// Allows a function `bytes` bytes of shared memory.
    pub(crate) fn grant_shared(&self, function: &CudaFunction, bytes: u32) -> Result<()> {
        let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        Ok(function.set_attribute(attribute, bytes as i32)?)
    }
}

#[expect(unsafe_code, reason = "opening a library runs its initialisers")]
fn driver_is_installed() -> bool {
    // SAFETY: the library is the driver's, whose initialisers may be run at any time; a person who can put another
    // library of that name on the search path can already run code in this process.
    unsafe { sys::is_culib_present() }
}

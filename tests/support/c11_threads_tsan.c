// C11 threads on top of pthreads, for programs under ThreadSanitizer only.
//
// ThreadSanitizer follows pthread calls and does not know <threads.h>: a thread that librdkafka
// starts by libc's thrd_create has no state there and crashes at its first intercepted call.
// This library comes before libc in the search order, so librdkafka calls these functions instead.
// The objects are libc's own; glibc gives each C11 type the size and layout of its pthread twin.

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <threads.h>

_Static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t), "mtx_t must hold a pthread_mutex_t");
_Static_assert(sizeof(cnd_t) == sizeof(pthread_cond_t), "cnd_t must hold a pthread_cond_t");
_Static_assert(sizeof(thrd_t) == sizeof(pthread_t), "thrd_t must hold a pthread_t");
_Static_assert(sizeof(tss_t) == sizeof(pthread_key_t), "tss_t must hold a pthread_key_t");
_Static_assert(sizeof(once_flag) == sizeof(pthread_once_t), "once_flag must hold a pthread_once_t");

static int status(int error) {
  switch (error) {
    case 0: return thrd_success;
    case EBUSY: return thrd_busy;
    case ENOMEM: return thrd_nomem;
    case ETIMEDOUT: return thrd_timedout;
    default: return thrd_error;
  }
}

static pthread_mutex_t* mutex_of(mtx_t* mutex) { return (pthread_mutex_t*)mutex; }
static pthread_cond_t* condition_of(cnd_t* condition) { return (pthread_cond_t*)condition; }

struct start {
  thrd_start_t function;
  void* argument;
};

static void* run(void* given) {
  struct start start = *(struct start*)given;
  free(given);
  return (void*)(intptr_t)start.function(start.argument);
}

int thrd_create(thrd_t* thread, thrd_start_t function, void* argument) {
  struct start* start = malloc(sizeof *start);
  if (start == NULL) return thrd_nomem;
  *start = (struct start){function, argument};
  int error = pthread_create((pthread_t*)thread, NULL, run, start);
  if (error != 0) free(start);
  return error == EAGAIN ? thrd_nomem : status(error);
}

int thrd_join(thrd_t thread, int* result) {
  void* value = NULL;
  int error = pthread_join((pthread_t)thread, &value);
  if (error == 0 && result != NULL) *result = (int)(intptr_t)value;
  return status(error);
}

int thrd_detach(thrd_t thread) { return status(pthread_detach((pthread_t)thread)); }

void thrd_exit(int result) { pthread_exit((void*)(intptr_t)result); }

int mtx_init(mtx_t* mutex, int type) {
  pthread_mutexattr_t attributes;
  int error = pthread_mutexattr_init(&attributes);
  if (error != 0) return status(error);
  pthread_mutexattr_settype(&attributes,
                            type & mtx_recursive ? PTHREAD_MUTEX_RECURSIVE : PTHREAD_MUTEX_NORMAL);
  error = pthread_mutex_init(mutex_of(mutex), &attributes);
  pthread_mutexattr_destroy(&attributes);
  return status(error);
}

void mtx_destroy(mtx_t* mutex) { pthread_mutex_destroy(mutex_of(mutex)); }
int mtx_lock(mtx_t* mutex) { return status(pthread_mutex_lock(mutex_of(mutex))); }
int mtx_trylock(mtx_t* mutex) { return status(pthread_mutex_trylock(mutex_of(mutex))); }
int mtx_unlock(mtx_t* mutex) { return status(pthread_mutex_unlock(mutex_of(mutex))); }
int mtx_timedlock(mtx_t* restrict mutex, const struct timespec* restrict until) {
  return status(pthread_mutex_timedlock(mutex_of(mutex), until));
}

int cnd_init(cnd_t* condition) { return status(pthread_cond_init(condition_of(condition), NULL)); }
void cnd_destroy(cnd_t* condition) { pthread_cond_destroy(condition_of(condition)); }
int cnd_signal(cnd_t* condition) { return status(pthread_cond_signal(condition_of(condition))); }
int cnd_broadcast(cnd_t* condition) { return status(pthread_cond_broadcast(condition_of(condition))); }
int cnd_wait(cnd_t* condition, mtx_t* mutex) {
  return status(pthread_cond_wait(condition_of(condition), mutex_of(mutex)));
}
int cnd_timedwait(cnd_t* restrict condition, mtx_t* restrict mutex, const struct timespec* restrict until) {
  return status(pthread_cond_timedwait(condition_of(condition), mutex_of(mutex), until));
}

int tss_create(tss_t* key, tss_dtor_t destructor) {
  return status(pthread_key_create((pthread_key_t*)key, destructor));
}
void tss_delete(tss_t key) { pthread_key_delete((pthread_key_t)key); }
void* tss_get(tss_t key) { return pthread_getspecific((pthread_key_t)key); }
int tss_set(tss_t key, void* value) { return status(pthread_setspecific((pthread_key_t)key, value)); }

void call_once(once_flag* flag, void (*function)(void)) { pthread_once((pthread_once_t*)flag, function); }
